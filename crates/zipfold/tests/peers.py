"""Posteriors by pyAgrum and the most probable value by toulbar2, for a network that peers.rs wrote.

usage: python peers.py NETWORK.json ANSWER.json      needs numpy, pyagrum, pytoulbar2
NETWORK.json: `cards`, `factors` (scope, values with the last variable fastest, the child last), `evidence` (a list of them: pairs of variable and
state). ANSWER.json: `posteriors` for each evidence, `map`: log10 of the value that toulbar2 reached, or null, and whether it proved it.
"""
import json, sys
import numpy as np
import pyagrum as gum


def bayes(cards, factors):
    net = gum.BayesNet()
    for v, card in enumerate(cards):
        net.add(gum.RangeVariable(f'x{v}', '', 0, card - 1))
    for scope, _ in factors:
        for parent in scope[:-1]:
            net.addArc(f'x{parent}', f'x{scope[-1]}')
    for scope, values in factors:
        table = net.cpt(f'x{scope[-1]}')
        order = [scope.index(int(str(name)[1:])) for name in reversed([str(n) for n in table.names])]
        table[:] = np.ascontiguousarray(np.array(values).reshape([cards[v] for v in scope]).transpose(order))
    return net


def posteriors(net, evidence, many):
    engine = gum.LazyPropagation(net)
    engine.setEvidence({f'x{v}': s for v, s in evidence})
    engine.makeInference()
    return [engine.posterior(f'x{v}').toarray().ravel().tolist() for v in range(many)]


def most_probable(cards, factors):
    """log10 of the value that toulbar2 finds within a minute, and whether it is proven."""
    import pytoulbar2
    problem = pytoulbar2.CFN(1e9, 10)
    for v, card in enumerate(cards):
        problem.AddVariable(f'x{v}', range(card))
    for scope, values in factors:
        with np.errstate(divide='ignore'):
            costs = -np.log10(np.array(values))
        problem.AddFunction([f'x{v}' for v in scope], [float(min(c, 1e6)) for c in costs])
    try:
        found = problem.Solve(timeLimit=60)
    except Exception:
        return None, False
    return (-found[1], problem.GetDDualBound() >= found[1] - 1e-7) if found else (None, False)


def main():
    network = json.load(open(sys.argv[1]))
    cards, factors = network['cards'], network['factors']
    answer = {'posteriors': []}
    if network['evidence']:
        net = bayes(cards, factors)
        answer['posteriors'] = [posteriors(net, evidence, len(cards)) for evidence in network['evidence']]
    answer['map'], answer['proven'] = most_probable(cards, factors)
    json.dump(answer, open(sys.argv[2], 'w'))


if __name__ == '__main__':
    main()
