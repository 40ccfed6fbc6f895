//! Which GPUs CUDA shows to a program, by CUDA_VISIBLE_DEVICES and by how they are cut into MIG devices.

/// A GPU or MIG device as NVML lists it: the number of its GPU, and its UUID.
pub type GpuId = (usize, String);

/// Places of the GPUs and MIG devices that CUDA shows to a program with this CUDA_VISIBLE_DEVICES, in its order: numbers, or
/// UUIDs or the beginnings of them, up to the first that names none. Numbers are those of NVML, as with
/// CUDA_DEVICE_ORDER=PCI_BUS_ID.
pub fn visible(choice: Option<&str>, gpus: &[GpuId]) -> Vec<usize> {
    const SLICE: &str = "MIG-";
    let is_cut = |place: &usize| gpus.iter().any(|(index, uuid)| *index == gpus[*place].0 && uuid.starts_with(SLICE));
    // A program sees whole GPUs, or else one MIG device: the first of a GPU that is cut.
    let seen = |places: Vec<usize>| {
        let (cut, whole): (Vec<usize>, Vec<usize>) = places.into_iter().partition(is_cut);
        if whole.is_empty() { cut.into_iter().take(1).collect() } else { whole }
    };
    let Some(choice) = choice else { return seen((0..gpus.len()).filter(|place| !gpus[*place].1.starts_with(SLICE)).collect()) };
    // The first entry decides for all of them.
    let kind = ["GPU-", SLICE].into_iter().find(|kind| choice.trim_start().starts_with(kind));
    let is_named = |word: &str, (index, uuid): &GpuId| match kind {
        Some(kind) => word.starts_with(kind) && uuid.starts_with(word),
        None => leading_number(word) == Some(*index) && !uuid.starts_with(SLICE),
    };
    let mut places = Vec::new();
    for word in choice.split(',').map(str::trim) {
        let mut named = (0..gpus.len()).filter(|place| is_named(word, &gpus[*place]));
        let (Some(place), None) = (named.next(), named.next()) else { break };
        if places.contains(&place) {
            return Vec::new();
        }
        places.push(place);
        if kind == Some(SLICE) {
            return places;
        }
    }
    seen(places)
}

/// CUDA reads numbers as C does: what follows the digits does not count.
fn leading_number(word: &str) -> Option<usize> {
    let word = word.strip_prefix('+').unwrap_or(word);
    let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
    word[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_reads_its_list_up_to_the_first_entry_that_names_no_gpu() {
        let gpus = ["GPU-aa", "GPU-ab", "GPU-b"].into_iter().zip(0..).map(|(uuid, index)| (index, uuid.to_owned()));
        let mut gpus: Vec<GpuId> = gpus.collect();
        let cases: &[(&str, &[usize])] = &[
            ("2,0", &[2, 0]),
            (" 1 , 2\n", &[1, 2]),
            ("+1,2x", &[1, 2]),
            ("0,5,1", &[0]),
            ("1,-1,2", &[1]),
            ("0,,1", &[0]),
            ("", &[]),
            ("-1", &[]),
            ("NoDevFiles", &[]),
            ("all", &[]),
            ("99999999999999999999999,0", &[]),
            ("1,1", &[]),
            ("GPU-b", &[2]),
            ("GPU-ab,GPU-aa", &[1, 0]),
            ("GPU-a", &[]),
            ("GPU-b,0", &[2]),
            ("0,GPU-b", &[0]),
            ("GPU-b,GPU-b", &[]),
            ("MIG-1", &[]),
        ];
        for (choice, expected) in cases {
            assert_eq!(visible(Some(choice), &gpus), *expected, "{choice:?}");
        }
        assert_eq!(visible(None, &gpus), [0, 1, 2]);
        // MIG devices stand behind their GPU.
        gpus.splice(1..1, [(0, "MIG-11".to_owned()), (0, "MIG-GPU-aa/1/0".to_owned())]);
        let cases: &[(&str, &[usize])] = &[
            ("MIG-GPU-aa/1/0", &[2]),
            ("MIG-1,MIG-GPU", &[1]),
            ("MIG-", &[]),
            ("1", &[3]),
            ("0", &[0]),
            ("0,1,2", &[3, 4]),
            ("GPU-aa", &[0]),
        ];
        for (choice, expected) in cases {
            assert_eq!(visible(Some(choice), &gpus), *expected, "{choice:?}");
        }
        assert_eq!(visible(None, &gpus), [3, 4], "whole GPUs win over MIG devices");
        gpus.truncate(3);
        assert_eq!(visible(None, &gpus), [0], "a program sees one MIG device");
        gpus.extend([(1, "GPU-c".to_owned()), (1, "MIG-c".to_owned())]);
        assert_eq!((visible(None, &gpus), visible(Some("0,1"), &gpus)), (vec![0], vec![0]));
    }
}
