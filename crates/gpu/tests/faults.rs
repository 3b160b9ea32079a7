//! What is missing is said: which part, and what to do.

use zipfold_core::Blame;
use zipfold_gpu::runtime::nvrtc;
use zipfold_gpu::{Runtime, list, open};

#[test]
fn a_device_that_does_not_exist_is_named_with_those_that_do() {
    for runtime in [Runtime::Cuda, Runtime::OpenCl] {
        let e = open(runtime, 99).unwrap_err();
        assert_eq!(e.blame(), Blame::Device);
        let text = e.to_string();
        match list(runtime) {
            Ok(found) => {
                assert!(text.contains(&format!("{}:99", runtime.name())), "{text}");
                assert!(found.iter().all(|f| text.contains(&f.id())), "{text}");
            }
            Err(_) => assert!(text.contains("device = \"cpu\""), "{text}"),
        }
    }
}

/// The environment of this process may name a folder with NVRTC; the test then runs again without
/// it.
#[test]
fn a_missing_run_time_compiler_is_named_with_its_remedy() {
    let me = "a_missing_run_time_compiler_is_named_with_its_remedy";
    if !nvrtc::is_present() {
        let e = nvrtc::compile("", 90).unwrap_err();
        assert_eq!(e.blame(), Blame::Device);
        let text = e.to_string();
        assert!(
            text.contains("libnvrtc")
                && text.contains("nvidia-cuda-nvrtc")
                && text.contains("device = \"opencl\""),
            "{text}"
        );
        return;
    }
    // An NVRTC that is installed in the system cannot be hidden.
    if std::env::var_os("LD_LIBRARY_PATH").is_none() {
        return;
    }
    let again = std::process::Command::new(std::env::current_exe().unwrap())
        .args([me, "--exact", "--nocapture"])
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout).to_string()
        + &String::from_utf8_lossy(&again.stderr);
    assert!(
        again.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn a_driver_that_is_too_old_is_named_with_the_oldest_that_will_do() {
    use zipfold_gpu::runtime::cuda::supported;
    let e = supported(11080).unwrap_err();
    assert_eq!(e.blame(), Blame::Device);
    let text = e.to_string();
    assert!(
        text.contains("CUDA 11.8")
            && text.contains("12.0 or newer")
            && text.contains("device = \"cpu\""),
        "{text}"
    );
    assert_eq!(supported(12000).unwrap(), 12000);
}
