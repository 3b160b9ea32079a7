//! The forms of kernels that join tables on a device.

/// How threads come by the numbers of their tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinForm {
    /// Rows and columns of a product of matrices, in shared memory.
    Matrix,
    /// Rows in shared memory, columns from the tables.
    Staged,
    /// Both from the tables.
    Alone,
    /// Pages of the result, by the paper's kernel.
    Paged,
}

impl JoinForm {
    /// All of them.
    pub const ALL: [JoinForm; 4] = [
        JoinForm::Matrix,
        JoinForm::Staged,
        JoinForm::Alone,
        JoinForm::Paged,
    ];
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            JoinForm::Matrix => "matrix",
            JoinForm::Staged => "staged",
            JoinForm::Alone => "alone",
            JoinForm::Paged => "paged",
        }
    }
}
