/** What the kernel modules are made of: one function a part, each written once against {@link FieldEmitter}. */
import { emitBatch } from './batch.ts'
import { CoordinateField, emitFq, emitFq2 } from './coordinates.ts'
import type { CurveKernels } from './curve.ts'
import { emitCurve } from './curve.ts'
import type { FieldEmitter } from './field.ts'
import { FQ_MODULUS, FR_MODULUS } from './field.ts'
import type { FmaOptions } from './field-fma.ts'
import { FmaField } from './field-fma.ts'
import { emitFieldFunctions } from './field-functions.ts'
import { IntegerField } from './field-integer.ts'
import { emitTransforms } from './ntt.ts'
import { i32, ModuleBuilder } from './wat.ts'

export interface KernelFields {
  readonly fq: FieldEmitter
  readonly fr: FieldEmitter
}

/** A part adds its functions and constants to the module. */
export type KernelPart = (module: ModuleBuilder, fields: KernelFields) => void

const PARTS: readonly KernelPart[] = [
  // How many numbers a kernel works on at a time.
  (module, { fq }) => module.func('lanes', {}, (f) => f.do(i32(fq.lanes)), 'i32'),
  (module, { fq }) => emitFieldFunctions(module, fq),
  (module, { fr }) => emitFieldFunctions(module, fr),
  (module, { fr }) => emitTransforms(module, fr),
  (module, { fq }) => emitFq(module, fq),
  (module, { fq }) => emitFq2(module, fq),
  (module, { fq }) => {
    const g1: CurveKernels = { name: 'g1', coordinates: new CoordinateField(fq, 1), b: [4n] }
    const g2: CurveKernels = { name: 'g2', coordinates: new CoordinateField(fq, 2), b: [4n, 4n] }
    for (const curve of [g1, g2]) {
      emitCurve(module, curve)
      emitBatch(module, curve)
    }
  },
]

export function fmaFields(module: ModuleBuilder, options: FmaOptions): KernelFields {
  return {
    fq: new FmaField(module, 'fq', FQ_MODULUS, { digits: 8, digitBits: 48 }, options),
    fr: new FmaField(module, 'fr', FR_MODULUS, { digits: 6, digitBits: 44 }, options),
  }
}

export function integerFields(module: ModuleBuilder): KernelFields {
  return {
    fq: new IntegerField(module, 'fq', FQ_MODULUS, { digits: 13, digitBits: 30, blockBytes: 64 }),
    fr: new IntegerField(module, 'fr', FR_MODULUS, { digits: 9, digitBits: 29, blockBytes: 48 }),
  }
}

/** @returns the text of a kernel module */
export function kernelModule(makeFields: (module: ModuleBuilder) => KernelFields): string {
  const module = new ModuleBuilder()
  const fields = makeFields(module)
  for (const part of PARTS) part(module, fields)
  return module.toString()
}
