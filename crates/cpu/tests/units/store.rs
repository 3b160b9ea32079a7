use zipfold_cpu::pairs::store::*;

#[test]
fn copies_are_whole_at_every_offset() {
    let from: Vec<u8> = (0..1000).map(|i| (i * 7 % 251) as u8).collect();
    for (start, bytes) in
        (0..70).flat_map(|start| [0, 1, 63, 64, 65, 200, 900].map(|bytes| (start, bytes)))
    {
        for bypass in [false, true] {
            let mut to = vec![0u8; 1000];
            // SAFETY: start + bytes is at most 970.
            unsafe { copy(to.as_mut_ptr().add(start), from.as_ptr(), bytes, bypass) };
            settle();
            assert!(
                to[..start]
                    .iter()
                    .chain(&to[start + bytes..])
                    .all(|b| *b == 0)
            );
            assert_eq!(to[start..start + bytes], from[..bytes]);
        }
    }
}
