/**
 * The WGSL of elements over shards: one binding a shard, and functions that find an element's shard by the top bits of
 * its index. A kernel is composed for a number of shards, so that where one buffer holds everything there is nothing to
 * choose.
 */
import type { ShardLayout } from '../elements.ts'

/** An array of elements that a kernel reads, or writes, anywhere. */
export interface ShardedArray {
  /** Names the functions: `NAME_load(i)`, and `NAME_store(i, value)` where it is written. */
  readonly name: string
  readonly access: 'read' | 'read_write'
  /** Number of the first shard's binding; the others follow. */
  readonly binding: number
}

/** Declarations of arrays that are spread alike. */
export function shardsWgsl({ shards, log2 }: ShardLayout, arrays: readonly ShardedArray[]): string {
  const lines = shards === 1 ? [] : [`const SHARD_LOG2 = ${log2}u;`]
  for (const { name, access, binding } of arrays) {
    for (let k = 0; k < shards; k++) {
      lines.push(`@group(0) @binding(${binding + k}) var<storage, ${access}> ${name}_shard_${k}: array<FRPacked>;`)
    }
    lines.push(
      `fn ${name}_load(i: u32) -> FRPacked {`,
      ...choose(shards, (k, at) => `return ${name}_shard_${k}[${at}];`),
      '}',
    )
    if (access === 'read') continue
    lines.push(
      `fn ${name}_store(i: u32, value: FRPacked) {`,
      ...choose(shards, (k, at) => `${name}_shard_${k}[${at}] = value;`),
      '}',
    )
  }
  return `${lines.join('\n')}\n`
}

function choose(shards: number, statement: (shard: number, at: string) => string): string[] {
  if (shards === 1) return [`  ${statement(0, 'i')}`]
  const cases = Array.from({ length: shards }, (_, k) => {
    const label = k === shards - 1 ? 'default' : `case ${k}u`
    return `    ${label}: { ${statement(k, 'within')} }`
  })
  return ['  let within = i & ((1u << SHARD_LOG2) - 1u);', '  switch (i >> SHARD_LOG2) {', ...cases, '  }']
}

/** What tells kernels of different layouts apart. */
export const shardsName = (name: string, { shards, log2 }: ShardLayout): string =>
  shards === 1 ? name : `${name} over ${shards} shards of 2^${log2}`
