//! Copies of areas of two and three dimensions.
//!
//! `Area2D` and `Area3D` are `CUDA_MEMCPY2D` and `CUDA_MEMCPY3D`: places, pitches and sizes.
//! Arrays, which only textures need, are not supported.

use super::code::Code;
use super::current::on_stream;
use super::exported::exported;
use super::memory::copy_between;
use super::pointers::{Handle, Structure};
use super::state::Driver;

/// One side of a copy of two dimensions.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Side2D {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Area2D {
    from: Side2D,
    to: Side2D,
    width: usize,
    height: usize,
}

/// One side of a copy of three dimensions, without the fields behind its array.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Side3D {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Area3D {
    from: Side3D,
    to: Side3D,
    width: usize,
    height: usize,
    depth: usize,
}

/// `CU_MEMORYTYPE_HOST`, `_DEVICE` and `_UNIFIED`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const UNIFIED: u32 = 4;

/// Where one side begins, and how far apart its rows and its planes are.
#[derive(Debug, Clone, Copy)]
struct Places {
    first: u64,
    pitch: usize,
    plane: usize,
}

/// Rows to copy.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    from: Places,
    to: Places,
    width: usize,
    height: usize,
    depth: usize,
}

impl Side2D {
    fn in_3d(self) -> Side3D {
        let Self { x, y, kind, host, device, array, pitch } = self;
        Side3D { x, y, z: 0, level: 0, kind, host, device, array, reserved: 0, pitch, height: 0 }
    }
}

impl Side3D {
    /// Of rows of `width` bytes; a pitch of 0 is that.
    fn places(self, width: usize, height: usize) -> Result<Places, Code> {
        let base = match self.kind {
            HOST => self.host,
            DEVICE | UNIFIED => self.device,
            _ => return Err(Code::NOT_SUPPORTED),
        };
        let pitch = if self.pitch == 0 { self.x + width } else { self.pitch };
        let plane = pitch * if self.height == 0 { height } else { self.height };
        if self.x + width > pitch {
            return Err(Code::INVALID_VALUE);
        }
        Ok(Places { first: base + (self.x + self.y * pitch + self.z * plane) as u64, pitch, plane })
    }
}

impl Area2D {
    /// The rows.
    pub fn rows(self) -> Result<Rows, Code> {
        let Self { from, to, width, height } = self;
        Area3D { from: from.in_3d(), to: to.in_3d(), width, height, depth: 1 }.rows()
    }
}

impl Area3D {
    /// The rows.
    pub fn rows(self) -> Result<Rows, Code> {
        let Self { from, to, width, height, depth } = self;
        let (from, to) = (from.places(width, height)?, to.places(width, height)?);
        Ok(Rows { from, to, width, height, depth })
    }
}

impl Rows {
    /// Copies all rows.
    pub fn copy(&self, driver: &mut Driver) -> Result<(), Code> {
        for (z, y) in (0..self.depth).flat_map(|z| (0..self.height).map(move |y| (z, y))) {
            let at = |side: Places| side.first + (z * side.plane + y * side.pitch) as u64;
            copy_between(driver, at(self.to), at(self.from), self.width)?;
        }
        Ok(())
    }
}

fn copy_rows(rows: Result<Rows, Code>, stream: Handle) -> Code {
    on_stream(stream, |driver, number| {
        let rows = rows?;
        driver.submit((stream, number), move |driver, _| rows.copy(driver))
    })
}

fn copy_2d(area: Structure<Area2D>, stream: Handle) -> Code {
    copy_rows(area.get().and_then(Area2D::rows), stream)
}

fn copy_3d(area: Structure<Area3D>, stream: Handle) -> Code {
    copy_rows(area.get().and_then(Area3D::rows), stream)
}

exported! {
    fn cuMemcpy2D_v2(area: Structure<Area2D>) = copy_2d(area, Handle::NULL);
    fn cuMemcpy2DUnaligned_v2(area: Structure<Area2D>) = copy_2d(area, Handle::NULL);
    fn cuMemcpy2DAsync_v2(area: Structure<Area2D>, stream: Handle) = copy_2d(area, stream);
    fn cuMemcpy3D_v2(area: Structure<Area3D>) = copy_3d(area, Handle::NULL);
    fn cuMemcpy3DAsync_v2(area: Structure<Area3D>, stream: Handle) = copy_3d(area, stream);
}
