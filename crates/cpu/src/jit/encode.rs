//! Instructions of a placed listing as bytes for AVX-512 or AVX2.

use super::SUM;
use super::ir::{Arg, Base, Class, Compare, Geometry, HEAD, Head, Inst, Listing, Mem, Op, V};
use super::registers::{Placement, RegisterPlace};
use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};
use std::mem::offset_of;

type Result<T> = std::result::Result<T, IcedError>;

/// Codes of an operation: AVX-512 f64, f32, AVX2 f64, f32.
fn code(op: Op, geo: &Geometry) -> Code {
    use Code::*;
    let of = |codes: [Code; 4]| codes[2 * usize::from(!geo.wide) + usize::from(geo.size == 4)];
    match op {
        Op::Load => of([
            EVEX_Vmovupd_zmm_k1z_zmmm512,
            EVEX_Vmovups_zmm_k1z_zmmm512,
            VEX_Vmovupd_ymm_ymmm256,
            VEX_Vmovups_ymm_ymmm256,
        ]),
        Op::Store => of([
            EVEX_Vmovupd_zmmm512_k1z_zmm,
            EVEX_Vmovups_zmmm512_k1z_zmm,
            VEX_Vmovupd_ymmm256_ymm,
            VEX_Vmovups_ymmm256_ymm,
        ]),
        Op::Add | Op::AddIf => of([
            EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
            VEX_Vaddpd_ymm_ymm_ymmm256,
            VEX_Vaddps_ymm_ymm_ymmm256,
        ]),
        Op::Sub => of([
            EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
            VEX_Vsubpd_ymm_ymm_ymmm256,
            VEX_Vsubps_ymm_ymm_ymmm256,
        ]),
        Op::Mul => of([
            EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
            VEX_Vmulpd_ymm_ymm_ymmm256,
            VEX_Vmulps_ymm_ymm_ymmm256,
        ]),
        Op::Div => of([
            EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
            VEX_Vdivpd_ymm_ymm_ymmm256,
            VEX_Vdivps_ymm_ymm_ymmm256,
        ]),
        Op::Min => of([
            EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
            EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
            VEX_Vminpd_ymm_ymm_ymmm256,
            VEX_Vminps_ymm_ymm_ymmm256,
        ]),
        Op::Max => of([
            EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
            EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
            VEX_Vmaxpd_ymm_ymm_ymmm256,
            VEX_Vmaxps_ymm_ymm_ymmm256,
        ]),
        Op::And => of([
            EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64,
            EVEX_Vandps_zmm_k1z_zmm_zmmm512b32,
            VEX_Vandpd_ymm_ymm_ymmm256,
            VEX_Vandps_ymm_ymm_ymmm256,
        ]),
        Op::Or => of([
            EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64,
            EVEX_Vorps_zmm_k1z_zmm_zmmm512b32,
            VEX_Vorpd_ymm_ymm_ymmm256,
            VEX_Vorps_ymm_ymm_ymmm256,
        ]),
        Op::Xor => of([
            EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64,
            EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32,
            VEX_Vxorpd_ymm_ymm_ymmm256,
            VEX_Vxorps_ymm_ymm_ymmm256,
        ]),
        _ => rare(op, of),
    }
}

fn rare(op: Op, of: impl Fn([Code; 4]) -> Code) -> Code {
    use Code::*;
    match op {
        Op::Range(_) => of([
            EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae,
            EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
            INVALID,
            INVALID,
        ]),
        Op::Sqrt => of([
            EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
            EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
            VEX_Vsqrtpd_ymm_ymmm256,
            VEX_Vsqrtps_ymm_ymmm256,
        ]),
        Op::ReciprocalRoot => of([
            EVEX_Vrsqrt14pd_zmm_k1z_zmmm512b64,
            EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32,
            INVALID,
            INVALID,
        ]),
        Op::Round(_) => of([
            EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
            EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae,
            VEX_Vroundpd_ymm_ymmm256_imm8,
            VEX_Vroundps_ymm_ymmm256_imm8,
        ]),
        Op::Scale => of([
            EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er,
            INVALID,
            INVALID,
        ]),
        Op::Fraction => of([
            EVEX_Vreducepd_zmm_k1z_zmmm512b64_imm8_sae,
            EVEX_Vreduceps_zmm_k1z_zmmm512b32_imm8_sae,
            INVALID,
            INVALID,
        ]),
        Op::Compare(_) => of([
            EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
            EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
            VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
            VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
        ]),
        Op::Blend => of([
            EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64,
            EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32,
            VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
            VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
        ]),
        Op::Fma => of([
            EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            VEX_Vfmadd231pd_ymm_ymm_ymmm256,
            VEX_Vfmadd231ps_ymm_ymm_ymmm256,
        ]),
        Op::MaskAnd => of([
            VEX_Kandw_kr_kr_kr,
            VEX_Kandw_kr_kr_kr,
            VEX_Vandpd_ymm_ymm_ymmm256,
            VEX_Vandps_ymm_ymm_ymmm256,
        ]),
        Op::MaskOr => of([
            VEX_Korw_kr_kr_kr,
            VEX_Korw_kr_kr_kr,
            VEX_Vorpd_ymm_ymm_ymmm256,
            VEX_Vorps_ymm_ymm_ymmm256,
        ]),
        Op::MaskXor | Op::MaskNot => of([
            VEX_Kxorw_kr_kr_kr,
            VEX_Kxorw_kr_kr_kr,
            VEX_Vxorpd_ymm_ymm_ymmm256,
            VEX_Vxorps_ymm_ymm_ymmm256,
        ]),
        _ => INVALID,
    }
}

/// Registers that hold the bases of addresses. Those of the second kind are loaded again after a
/// call.
const ROWS: Register = Register::RBX;
const STRIP: Register = Register::R12;
const FRAME: Register = Register::R13;
const COMPONENT: Register = Register::R14;
const DELTAS: Register = Register::R15;
const OUT: Register = Register::RBP;
const LOADED: [(Register, usize); 5] = [
    (Register::RCX, offset_of!(Head, vectors)),
    (Register::RDX, offset_of!(Head, x_attr)),
    (Register::RSI, offset_of!(Head, y_attr)),
    (Register::RDI, offset_of!(Head, pool)),
    (Register::R8, offset_of!(Head, reductions)),
];
const SAVED: [Register; 6] = [ROWS, OUT, STRIP, FRAME, COMPONENT, DELTAS];

/// A function in the making.
struct Writer<'l> {
    encoder: Encoder,
    at: u64,
    list: &'l Listing,
    placement: &'l Placement,
    geo: Geometry,
    /// The first vector register that is kept free.
    spare: u8,
    function: u64,
    open: Vec<(u64, usize)>,
}

/// The bytes of a function `extern "sysv64" fn(frame: *mut Head)`; `function` is the address of
/// what it calls.
///
/// # Errors
/// Where an operand does not fit an instruction.
pub(super) fn encode(
    list: &Listing,
    placement: &Placement,
    geo: Geometry,
    spare: u8,
    function: u64,
) -> Result<Vec<u8>> {
    let (encoder, at) = (Encoder::new(64), 0);
    let mut w = Writer {
        encoder,
        at,
        list,
        placement,
        geo,
        spare,
        function,
        open: vec![],
    };
    for r in SAVED {
        w.put(Instruction::with1(Code::Push_r64, r)?)?;
    }
    // Six registers and the address to return to: the stack is a multiple of 16 again.
    w.put(Instruction::with2(Code::Sub_rm64_imm8, Register::RSP, 8)?)?;
    w.put(Instruction::with2(
        Code::Mov_r64_rm64,
        FRAME,
        Register::RDI,
    )?)?;
    w.head(OUT, offset_of!(Head, out))?;
    w.head(ROWS, offset_of!(Head, x))?;
    w.head(DELTAS, offset_of!(Head, deltas))?;
    w.bases()?;
    for (at, inst) in list.insts.iter().enumerate() {
        w.inst(at, inst)?;
    }
    w.put(Instruction::with(Code::VEX_Vzeroupper))?;
    w.put(Instruction::with2(Code::Add_rm64_imm8, Register::RSP, 8)?)?;
    for r in SAVED.iter().rev() {
        w.put(Instruction::with1(Code::Pop_r64, *r)?)?;
    }
    w.put(Instruction::with(Code::Retnq))?;
    Ok(w.encoder.take_buffer())
}

fn memory(base: Register, index: Register, disp: i64, broadcast: bool) -> MemoryOperand {
    let size = u32::from(disp != 0);
    MemoryOperand::new(base, index, 1, disp, size, broadcast, Register::None)
}

impl Writer<'_> {
    fn put(&mut self, inst: Instruction) -> Result<()> {
        self.at += self.encoder.encode(&inst, self.at)? as u64;
        Ok(())
    }
    /// Loads a number of the head.
    fn head(&mut self, to: Register, offset: usize) -> Result<()> {
        let from = memory(FRAME, Register::None, offset as i64, false);
        self.put(Instruction::with2(Code::Mov_r64_rm64, to, from)?)
    }
    fn bases(&mut self) -> Result<()> {
        LOADED
            .iter()
            .try_for_each(|(r, offset)| self.head(*r, *offset))
    }
    fn vector(&self, n: u8) -> Register {
        let first = if self.geo.wide {
            Register::ZMM0
        } else {
            Register::YMM0
        };
        first + u32::from(n)
    }
    fn half(&self, r: Register) -> Register {
        if self.geo.wide {
            Register::YMM0 + (r as u32 - Register::ZMM0 as u32)
        } else {
            Register::XMM0 + (r as u32 - Register::YMM0 as u32)
        }
    }
    fn address(&self, mem: &Mem, broadcast: bool) -> MemoryOperand {
        let index = if mem.by_k { COMPONENT } else { Register::None };
        let (base, index) = match mem.base {
            Base::X => (ROWS, index),
            Base::Vectors => (Register::RCX, index),
            Base::XAttr => (Register::RDX, Register::None),
            Base::Y => (STRIP, Register::None),
            Base::YAttr => (Register::RSI, Register::None),
            Base::Deltas => (DELTAS, Register::None),
            Base::Reductions => (Register::R8, Register::None),
            Base::Out => (OUT, Register::None),
            Base::Pool => (Register::RDI, Register::None),
            Base::Frame => (FRAME, Register::None),
        };
        memory(base, index, mem.disp, broadcast)
    }
    /// Loads a vector, or one number for all lanes.
    fn load(&mut self, to: Register, mem: &Mem) -> Result<()> {
        let from = self.address(mem, false);
        let code = match (mem.broadcast, self.geo.wide, self.geo.size) {
            (false, ..) => code(Op::Load, &self.geo),
            (true, true, 8) => Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
            (true, true, _) => Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
            (true, false, 8) => Code::VEX_Vbroadcastsd_ymm_m64,
            (true, false, _) => Code::VEX_Vbroadcastss_ymm_m32,
        };
        self.put(Instruction::with2(code, to, from)?)
    }
    /// The register of operand `v`; one in memory is loaded into spare register `slot`.
    fn read(&mut self, v: V, slot: u8) -> Result<Register> {
        match self.placement.places[v as usize] {
            RegisterPlace::Register(n) if self.list.classes[v as usize] == Class::Mask => {
                Ok(Register::K0 + u32::from(n))
            }
            RegisterPlace::Register(n) => Ok(self.vector(n)),
            RegisterPlace::Memory(mem) => {
                let to = self.vector(self.spare + slot);
                self.load(to, &mem)?;
                Ok(to)
            }
            RegisterPlace::Nowhere => Ok(self.vector(0)),
        }
    }
    /// A last operand in memory, where the instruction can take it so.
    fn in_memory(&self, arg: Arg) -> Option<Mem> {
        let mem = match arg {
            Arg::M(mem) => mem,
            Arg::V(v) => match self.placement.places[v as usize] {
                RegisterPlace::Memory(mem) => mem,
                _ => return None,
            },
            Arg::No => return None,
        };
        (self.geo.wide || !mem.broadcast).then_some(mem)
    }
    /// The register to write; one whose place is in memory is stored by [`Self::written`].
    fn target(&mut self, inst: &Inst) -> Result<Register> {
        match self.placement.places[inst.dst as usize] {
            RegisterPlace::Memory(_) if inst.op.is_tied() => self.read(inst.dst, 2),
            RegisterPlace::Memory(_) => Ok(self.vector(self.spare + 2)),
            _ => self.read(inst.dst, 2),
        }
    }
    fn written(&mut self, inst: &Inst, from: Register) -> Result<()> {
        match self.placement.places[inst.dst as usize] {
            RegisterPlace::Memory(mem) if mem.base == Base::Frame => {
                let to = self.address(&mem, false);
                self.put(Instruction::with2(code(Op::Store, &self.geo), to, from)?)
            }
            _ => Ok(()),
        }
    }
    fn inst(&mut self, at: usize, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::Start(k) => self.start(k),
            Op::Loop(_) | Op::Slices(..) | Op::Strips => self.begin(at, inst.op),
            Op::End(_) | Op::EndSlices(_) => self.end(at, inst.op),
            Op::EndStrips => self.next_strips(),
            Op::Call(call, n, out, a, b) => self.call(call, n, [out, a, b]),
            Op::Store => self.store(inst),
            Op::WidenAdd => self.widen_add(inst),
            Op::Narrow => self.narrow(inst),
            _ => self.compute(inst),
        }
    }
    fn store(&mut self, inst: &Inst) -> Result<()> {
        let (Arg::V(v), Arg::M(mem)) = (inst.src[0], inst.src[1]) else {
            return Ok(());
        };
        let from = self.read(v, 0)?;
        let to = self.address(&mem, false);
        self.put(Instruction::with2(code(Op::Store, &self.geo), to, from)?)
    }
    fn compute(&mut self, inst: &Inst) -> Result<()> {
        // A load whose value is loaded where it is read needs no instruction of its own.
        if let (Op::Load, Arg::M(mem)) = (inst.op, inst.src[0]) {
            return match self.placement.places[inst.dst as usize] {
                RegisterPlace::Memory(place) if place == mem => Ok(()),
                _ => {
                    let to = self.target(inst)?;
                    self.load(to, &mem)?;
                    self.written(inst, to)
                }
            };
        }
        let to = self.target(inst)?;
        match inst.op {
            Op::Load => {
                if let Arg::V(v) = inst.src[0] {
                    let from = self.read(v, 0)?;
                    if from != to {
                        self.put(Instruction::with2(code(Op::Load, &self.geo), to, from)?)?;
                    }
                }
            }
            Op::Sqrt | Op::ReciprocalRoot | Op::Round(_) | Op::Fraction => self.unary(inst, to)?,
            Op::Blend | Op::Keep | Op::AddIf => self.masked(inst, to)?,
            Op::MaskNot if self.geo.wide => {
                let a = self.operand(inst.src[0], 0)?;
                self.put(Instruction::with2(Code::VEX_Knotw_kr_kr, to, a)?)?;
            }
            _ => self.binary(inst, to)?,
        }
        self.written(inst, to)
    }
    fn operand(&mut self, arg: Arg, slot: u8) -> Result<Register> {
        match arg {
            Arg::V(v) => self.read(v, slot),
            Arg::M(mem) => {
                let to = self.vector(self.spare + slot);
                self.load(to, &mem)?;
                Ok(to)
            }
            Arg::No => Ok(Register::None),
        }
    }
    fn unary(&mut self, inst: &Inst, to: Register) -> Result<()> {
        let code = code(inst.op, &self.geo);
        let how = match inst.op {
            // Without the exception of inexact results.
            Op::Round(how) => Some(u32::from(how) | 8),
            Op::Fraction => Some(1 | 8),
            _ => None,
        };
        let made = match (self.in_memory(inst.src[0]), how) {
            (Some(mem), None) => Instruction::with2(code, to, self.address(&mem, mem.broadcast))?,
            (Some(mem), Some(how)) => {
                Instruction::with3(code, to, self.address(&mem, mem.broadcast), how)?
            }
            (None, how) => {
                let a = self.operand(inst.src[0], 0)?;
                match how {
                    Some(how) => Instruction::with3(code, to, a, how)?,
                    None => Instruction::with2(code, to, a)?,
                }
            }
        };
        self.put(made)
    }
    fn binary(&mut self, inst: &Inst, to: Register) -> Result<()> {
        let code = code(inst.op, &self.geo);
        let how = match inst.op {
            Op::Range(how) => Some(u32::from(how)),
            Op::Compare(how) => Some(match how {
                Compare::Lt => 0x11,
                Compare::Le => 0x12,
                Compare::Eq => 0x00,
                Compare::Ne => 0x04,
                Compare::Unordered => 0x03,
            }),
            _ => None,
        };
        let a = self.operand(inst.src[0], 0)?;
        let made = match (self.in_memory(inst.src[1]), how) {
            (Some(mem), None) => {
                Instruction::with3(code, to, a, self.address(&mem, mem.broadcast))?
            }
            (Some(mem), Some(how)) => {
                Instruction::with4(code, to, a, self.address(&mem, mem.broadcast), how)?
            }
            (None, how) => {
                let b = self.operand(inst.src[1], 1)?;
                match how {
                    Some(how) => Instruction::with4(code, to, a, b, how)?,
                    None => Instruction::with3(code, to, a, b)?,
                }
            }
        };
        self.put(made)
    }
    /// Operations under a mask: AVX-512 has mask registers, AVX2 vectors of ones and zeros.
    fn masked(&mut self, inst: &Inst, to: Register) -> Result<()> {
        let wide = self.geo.wide;
        let mask = self.operand(inst.src[0], 0)?;
        let b = self.operand(inst.src[1], 1)?;
        let mut made = match (inst.op, wide) {
            (Op::Keep, true) => Instruction::with2(code(Op::Load, &self.geo), to, b)?,
            (Op::Keep, false) => Instruction::with3(code(Op::And, &self.geo), to, mask, b)?,
            (op, true) => match self.in_memory(inst.src[2]) {
                Some(mem) => Instruction::with3(
                    code(op, &self.geo),
                    to,
                    b,
                    self.address(&mem, mem.broadcast),
                )?,
                None => {
                    // A target in memory lies in the last spare register, and tied ones are read
                    // there: both read first.
                    let c = self.operand(inst.src[2], 0)?;
                    Instruction::with3(code(op, &self.geo), to, b, c)?
                }
            },
            (_, false) => match self.in_memory(inst.src[2]) {
                Some(mem) => Instruction::with4(
                    code(inst.op, &self.geo),
                    to,
                    b,
                    self.address(&mem, false),
                    mask,
                )?,
                None => {
                    let c = self.operand(inst.src[2], 2)?;
                    Instruction::with4(code(inst.op, &self.geo), to, b, c, mask)?
                }
            },
        };
        if wide {
            made.set_op_mask(mask);
            made.set_zeroing_masking(inst.op == Op::Keep);
        }
        self.put(made)
    }
    fn start(&mut self, k: usize) -> Result<()> {
        self.head(STRIP, offset_of!(Head, y))?;
        self.head(OUT, offset_of!(Head, out))?;
        self.put(Instruction::with2(
            Code::Xor_r32_rm32,
            Register::R14D,
            Register::R14D,
        )?)?;
        if k > 0 {
            self.step(COMPONENT, k * self.geo.size)?;
            self.step(STRIP, k * self.geo.vector())?;
            self.step(OUT, k * self.geo.out_step())?;
        }
        Ok(())
    }
    fn step(&mut self, register: Register, bytes: usize) -> Result<()> {
        self.put(Instruction::with2(
            Code::Add_rm64_imm32,
            register,
            bytes as i32,
        )?)
    }
    fn begin(&mut self, at: usize, op: Op) -> Result<()> {
        self.open.push((self.at, at));
        let Op::Slices(slice, dim) = op else {
            return Ok(());
        };
        // The end of the slice: this many components on, but not past the last.
        let from = memory(
            COMPONENT,
            Register::None,
            (slice * self.geo.size) as i64,
            false,
        );
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RAX, from)?)?;
        self.put(Instruction::with2(
            Code::Mov_rm64_imm32,
            Register::R9,
            (dim * self.geo.size) as i32,
        )?)?;
        self.put(Instruction::with2(
            Code::Cmp_r64_rm64,
            Register::RAX,
            Register::R9,
        )?)?;
        self.put(Instruction::with2(
            Code::Cmova_r64_rm64,
            Register::RAX,
            Register::R9,
        )?)?;
        let to = memory(FRAME, Register::None, offset_of!(Head, slice) as i64, false);
        self.put(Instruction::with2(Code::Mov_rm64_r64, to, Register::RAX)?)
    }
    fn end(&mut self, at: usize, op: Op) -> Result<()> {
        let Some((label, begin)) = self.open.pop() else {
            return Ok(());
        };
        let size = self.geo.size;
        let bytes = |dim: usize| (dim * size) as i32;
        match op {
            Op::End(to) => {
                let inside = &self.list.insts[begin..at];
                let writes =
                    |i: &Inst| matches!(i.src[1], Arg::M(m) if m.base == Base::Out && m.by_k);
                let out = inside.iter().any(|i| i.op == Op::Store && writes(i));
                self.step(COMPONENT, self.geo.size)?;
                self.step(STRIP, self.geo.vector())?;
                if out {
                    self.step(OUT, self.geo.out_step())?;
                }
                match to {
                    Some(dim) => self.put(Instruction::with2(
                        Code::Cmp_rm64_imm32,
                        COMPONENT,
                        bytes(dim),
                    )?)?,
                    None => {
                        let end =
                            memory(FRAME, Register::None, offset_of!(Head, slice) as i64, false);
                        self.put(Instruction::with2(Code::Cmp_r64_rm64, COMPONENT, end)?)?;
                    }
                }
            }
            Op::EndSlices(dim) => self.put(Instruction::with2(
                Code::Cmp_rm64_imm32,
                COMPONENT,
                bytes(dim),
            )?)?,
            _ => {}
        }
        self.put(Instruction::with_branch(Code::Jb_rel32_64, label)?)
    }
    /// Moves all pointers of lanes to the next strips, and goes on until none are left.
    fn next_strips(&mut self) -> Result<()> {
        let Some((label, _)) = self.open.pop() else {
            return Ok(());
        };
        let geo = self.geo;
        let lanes = geo.strips * geo.vector();
        let mut moves = vec![
            (offset_of!(Head, y), lanes * geo.row_vectors[1] * geo.dim),
            (offset_of!(Head, y_attr), lanes),
            (offset_of!(Head, reductions), lanes),
        ];
        if !geo.results.are_added() {
            moves.push((offset_of!(Head, out), lanes));
        }
        for (offset, bytes) in moves {
            let at = memory(FRAME, Register::None, offset as i64, false);
            self.put(Instruction::with2(Code::Add_rm64_imm32, at, bytes as i32)?)?;
        }
        if geo.results.are_added() && !lanes.is_multiple_of(SUM) {
            // Sums are aligned to their size, so that this is the other half.
            let at = memory(FRAME, Register::None, offset_of!(Head, out) as i64, false);
            self.put(Instruction::with2(Code::Xor_rm64_imm32, at, lanes as i32)?)?;
        }
        self.step(DELTAS, lanes)?;
        self.bases()?;
        let left = memory(
            FRAME,
            Register::None,
            offset_of!(Head, strips) as i64,
            false,
        );
        self.put(Instruction::with1(Code::Dec_rm64, left)?)?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, label)?)
    }
    fn call(&mut self, call: usize, n: usize, at: [i64; 3]) -> Result<()> {
        self.put(Instruction::with2(
            Code::Mov_r32_imm32,
            Register::EDI,
            call as u32,
        )?)?;
        self.put(Instruction::with2(
            Code::Mov_r32_imm32,
            Register::ESI,
            n as u32,
        )?)?;
        for (register, at) in [Register::RDX, Register::RCX, Register::R8]
            .into_iter()
            .zip(at)
        {
            let from = memory(FRAME, Register::None, at.max(HEAD), false);
            self.put(Instruction::with2(Code::Lea_r64_m, register, from)?)?;
        }
        self.put(Instruction::with2(
            Code::Mov_r64_imm64,
            Register::RAX,
            self.function,
        )?)?;
        self.put(Instruction::with1(Code::Call_rm64, Register::RAX)?)?;
        self.bases()
    }
    /// Two vectors of f64 in memory grow by the lanes of one of f32.
    fn widen_add(&mut self, inst: &Inst) -> Result<()> {
        use Code::*;
        let (Arg::V(v), Arg::M(mem)) = (inst.src[0], inst.src[1]) else {
            return Ok(());
        };
        let (from, to) = (self.read(v, 0)?, self.target(inst)?);
        let wide = self.geo.wide;
        let pick = |a, b| if wide { a } else { b };
        let (widen, add) = (
            pick(
                EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae,
                VEX_Vcvtps2pd_ymm_xmmm128,
            ),
            pick(
                EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vaddpd_ymm_ymm_ymmm256,
            ),
        );
        let (store, high) = (
            pick(EVEX_Vmovupd_zmmm512_k1z_zmm, VEX_Vmovupd_ymmm256_ymm),
            pick(
                EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8,
                VEX_Vextractf128_xmmm128_ymm_imm8,
            ),
        );
        for half in 0..2 {
            let place = Mem {
                disp: mem.disp + (half * self.geo.vector()) as i64,
                ..mem
            };
            let place = self.address(&place, false);
            let narrow = match half {
                0 => self.half(from),
                _ => {
                    self.put(Instruction::with3(high, self.half(to), from, 1)?)?;
                    self.half(to)
                }
            };
            self.put(Instruction::with2(widen, to, narrow)?)?;
            self.put(Instruction::with3(add, to, to, place)?)?;
            self.put(Instruction::with2(store, place, to)?)?;
        }
        Ok(())
    }
    /// One vector of f32 from two of f64 in memory.
    fn narrow(&mut self, inst: &Inst) -> Result<()> {
        use Code::*;
        let (Arg::V(v), Arg::M(mem)) = (inst.src[0], inst.src[1]) else {
            return Ok(());
        };
        let (room, to) = (self.read(v, 0)?, self.target(inst)?);
        let wide = self.geo.wide;
        let narrow = if wide {
            EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er
        } else {
            VEX_Vcvtpd2ps_xmm_ymmm256
        };
        for (half, r) in [to, room].into_iter().enumerate() {
            let place = Mem {
                disp: mem.disp + (half * self.geo.vector()) as i64,
                ..mem
            };
            let place = self.address(&place, false);
            self.put(Instruction::with2(narrow, self.half(r), place)?)?;
        }
        let join = if wide {
            EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8
        } else {
            VEX_Vinsertf128_ymm_ymm_xmmm128_imm8
        };
        self.put(Instruction::with4(join, to, to, self.half(room), 1)?)?;
        self.written(inst, to)
    }
}

/// Whether all offsets of a listing fit an address.
pub(super) fn fits(list: &Listing) -> bool {
    let small = |a: &Arg| !matches!(a, Arg::M(m) if m.disp > i64::from(i32::MAX) / 2);
    list.insts.iter().all(|i| i.src.iter().all(small))
}
