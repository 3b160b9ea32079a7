//! A script for Slurm: an array of tasks, each of which works on shares.

use std::path::Path;
use zipfold::Result;
use zipfold::internals::core::error::quoted;
use zipfold::internals::store::Manifest;
use zipfold::internals::written::write_text;
use zipfold::io::OutputOptions;

/// What tasks work on.
pub(crate) struct Shares<'a> {
    pub number: usize,
    /// What they look like.
    pub shape: &'a str,
    /// Predicted seconds of one.
    pub seconds: f64,
    /// Threads of the machine that planned.
    pub threads: usize,
    /// Where workers run.
    pub device: &'a str,
    /// Bytes that workers hold by the plan, and are not told again.
    pub held: Option<u64>,
}

impl<'a> From<&'a Manifest> for Shares<'a> {
    fn from(manifest: &'a Manifest) -> Self {
        Shares {
            number: manifest.shares,
            shape: &manifest.shape,
            seconds: manifest.predicted.share_seconds,
            threads: manifest.predicted.threads,
            device: &manifest.device,
            held: None,
        }
    }
}

/// Tasks of an array: what clusters take by default.
const TASKS: usize = 1000;
/// Seconds before the end of its time at which a task keeps a checkpoint.
const NOTICE: u64 = 60;

/// The name of the script of the store in the folder `root`.
pub(crate) fn place(root: &Path) -> String {
    root.join(NAME).to_string_lossy().into_owned()
}

/// Writes the script into the store in the folder `root`, and returns its name.
pub(crate) fn write(
    work: &Shares<'_>,
    root: &Path,
    memory: Option<u64>,
    how: OutputOptions,
) -> Result<String> {
    let place = place(root);
    let root = zipfold::internals::io::store_files::absolute(root)?;
    let text = script(work, &root.to_string_lossy(), memory);
    write_text(&place, &text, how)?;
    Ok(place)
}

/// The script of an array of tasks that work on the store in the folder `root`.
fn script(work: &Shares<'_>, root: &str, memory: Option<u64>) -> String {
    let (shares, tasks) = (work.number, work.number.min(TASKS));
    let each = shares.div_ceil(tasks.max(1)) as f64;
    // Machines differ, and reading takes time, too.
    let seconds = work.seconds * 4.0 * each + 600.0;
    let minutes = (seconds / 60.0).ceil() as u64;
    // Slurm reads its lines up to the first command, so a path with a line break comes behind them.
    let root = quoted(root);
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let most = memory.map_or(String::new(), |bytes| {
        format!(" --memory {}MiB", mib(bytes))
    });
    let wanted = wanted(work.device, memory.or(work.held).map(mib));
    format!(
        "#!/bin/sh
# {shares} shares ({shape}). Send it with: sbatch {NAME}
#SBATCH --job-name=zipfold
#SBATCH --array=1-{tasks}
#SBATCH --cpus-per-task={threads}
#SBATCH --time={minutes}
#SBATCH --signal=TERM@{NOTICE}
#SBATCH --requeue
#SBATCH --open-mode=append
{wanted}store={root}
# When all tasks have ended: zipfold merge \"$store\" -o RESULT
share=\"$SLURM_ARRAY_TASK_ID\"
cpus=\"${{SLURM_CPUS_PER_TASK:-{threads}}}\"
failed=0
while [ \"$share\" -le {shares} ]; do
    status=0
    srun --ntasks=1 --cpus-per-task=\"$cpus\" zipfold work \"$store\" --share \"$share\" --threads \"$cpus\"{most} --quiet || status=$?
    # Stopped by a signal, as before the end of its time: the checkpoint is kept, and no share is begun.
    [ \"$status\" -lt 128 ] || exit \"$status\"
    [ \"$status\" -eq 0 ] || failed=$status
    share=$((share + {tasks}))
done
exit \"$failed\"
",
        shape = work.shape,
        threads = work.threads,
    )
}

/// The lines that ask for more than processors.
fn wanted(device: &str, mib: Option<u64>) -> String {
    let gpu = match device.starts_with("cuda") {
        true => "#SBATCH --gpus=1\n",
        false => "",
    };
    // What a worker may hold is not all that its process takes.
    let room = mib.map(|mib| format!("#SBATCH --mem={}M\n", mib + mib / 8 + 256));
    gpu.to_string() + &room.unwrap_or_default()
}

/// The file of the script in a store.
const NAME: &str = "work.sbatch";
