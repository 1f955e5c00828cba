import { expect, it } from 'vitest'
import { cardMemoryBytes, memoryOf } from '../../src/device/card-memory.ts'

it('reads the memory of cards of a name from their driver’s table', () => {
  // As `nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits` prints it.
  const table = 'NVIDIA H200, 143771\nNVIDIA GeForce RTX 4090, 24564\nNVIDIA H200, 143770\n'
  expect(memoryOf('NVIDIA H200', table)).toEqual([143_771 * 2 ** 20, 143_770 * 2 ** 20])
  expect(memoryOf('NVIDIA H100', table)).toEqual([])
  expect(memoryOf('NVIDIA H200', 'NVIDIA H200, [N/A]\n')).toEqual([])
  expect(memoryOf('', '\n')).toEqual([])
})

it('says nothing of what no driver tells', async () => {
  expect(await cardMemoryBytes('SwiftShader Device (Subzero)')).toBeUndefined()
})
