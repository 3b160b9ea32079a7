{
    // Nearest and next layer, in each nearest and next line, on each line the nearest point (core: Triclinic::nearest).
    double layer[2][3], best[3], best_norm = 0.0;
    double f = (e0 * cell_n2[0] + e1 * cell_n2[1]) + e2 * cell_n2[2];
    double w = zf_round_d(f), t = f - w, s = t > 0.0 ? 1.0 : 0.0;
    s = t < 0.0 ? -1.0 : s;
    layer[0][0] = e0 - w * cell_b2[0]; layer[0][1] = e1 - w * cell_b2[1]; layer[0][2] = e2 - w * cell_b2[2];
    for (int c = 0; c < 3; c++) layer[1][c] = layer[0][c] - s * cell_b2[c];
    for (int a = 0; a < 2; a++) {
        double line[2][3], mine[3], mine_norm = 0.0;
        f = (layer[a][0] * cell_n1[0] + layer[a][1] * cell_n1[1]) + layer[a][2] * cell_n1[2];
        w = zf_round_d(f); t = f - w; s = t > 0.0 ? 1.0 : 0.0; s = t < 0.0 ? -1.0 : s;
        for (int c = 0; c < 3; c++) line[0][c] = layer[a][c] - w * cell_b1[c];
        for (int c = 0; c < 3; c++) line[1][c] = line[0][c] - s * cell_b1[c];
        for (int b = 0; b < 2; b++) {
            double r[3];
            w = zf_round_d((line[b][0] * cell_n0[0] + line[b][1] * cell_n0[1]) + line[b][2] * cell_n0[2]);
            for (int c = 0; c < 3; c++) r[c] = line[b][c] - w * cell_b0[c];
            const double norm = (r[0] * r[0] + r[1] * r[1]) + r[2] * r[2];
            if (b == 0 || norm < mine_norm) { mine_norm = norm; for (int c = 0; c < 3; c++) mine[c] = r[c]; }
        }
        if (a == 0 || mine_norm < best_norm) { best_norm = mine_norm; for (int c = 0; c < 3; c++) best[c] = mine[c]; }
    }
    e0 = best[0]; e1 = best[1]; e2 = best[2];
}
