//! A script for Slurm: an array of tasks, each of which works on shares.

use zipfold::internals::core::error::quoted;
use zipfold::internals::store::Manifest;

/// Tasks of an array: what clusters take by default.
const TASKS: usize = 1000;
/// Seconds before the end of its time at which a task keeps a checkpoint.
const NOTICE: u64 = 60;

/// The script of an array of tasks that work on the store in the folder `root`.
pub(crate) fn script(manifest: &Manifest, root: &str) -> String {
    let (shares, tasks) = (manifest.shares, manifest.shares.min(TASKS));
    let each = shares.div_ceil(tasks.max(1)) as f64;
    // Machines differ, and reading takes time, too.
    let seconds = manifest.predicted.share_seconds * 4.0 * each + 600.0;
    let minutes = (seconds / 60.0).ceil() as u64;
    let root = quoted(root);
    format!(
        "#!/bin/sh
# {shares} shares ({shape}). Send it with: sbatch {NAME}
# Merge when all tasks have ended: zipfold merge {root} -o RESULT
#SBATCH --job-name=zipfold
#SBATCH --array=1-{tasks}
#SBATCH --cpus-per-task={threads}
#SBATCH --time={minutes}
#SBATCH --signal=TERM@{NOTICE}
#SBATCH --requeue
#SBATCH --open-mode=append
share=\"$SLURM_ARRAY_TASK_ID\"
status=0
while [ \"$share\" -le {shares} ]; do
    srun --ntasks=1 zipfold work {root} --share \"$share\" --threads \"${{SLURM_CPUS_PER_TASK:-{threads}}}\" --quiet || status=$?
    share=$((share + {tasks}))
done
exit $status
",
        shape = manifest.shape,
        threads = manifest.predicted.threads,
    )
}

/// The file of the script in a store.
pub(crate) const NAME: &str = "work.sbatch";
