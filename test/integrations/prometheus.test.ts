/** `wgzk/prometheus` on an engine with fake devices. */
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { InvalidRequestError } from '../../src/errors.ts'
import { collectPrometheus } from '../../src/integrations/prometheus.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

test('counts, durations and faults of one engine, in cuzk’s names; another engine is not in them', async () => {
  const broken = new InvalidRequestError('a path leads elsewhere')
  const machine = new FakeMachine()
    .fail('synthesize', 6, { kind: 'throw', error: broken })
    .fail('prove', 2, { kind: 'wrong' })
  const engine = await machine.engine()
  const other = await new FakeMachine().engine()
  const register = new Registry()
  const stop = collectPrometheus(engine, { register, labels: { site: 'a' } })
  await engine.prove(syntheticWindowRequest('2k', 6))
  await engine.prove(winningRequest())
  await engine.prove(windowRequest()).catch(() => {})
  await other.prove(winningRequest())
  const text = await register.metrics()
  for (const line of [
    'cuzk_proofs_completed_total{proof_kind="window_post",site="a"} 1',
    'cuzk_proofs_completed_total{proof_kind="winning_post",site="a"} 1',
    'cuzk_proofs_failed_total{proof_kind="window_post",site="a"} 1',
    'cuzk_queue_depth{site="a"} 0',
    'cuzk_gpu_workers{state="idle",site="a"} 1',
    'cuzk_gpu_verify_failures_total{gpu="0",site="a"} 1',
    'cuzk_proof_duration_seconds_count{proof_kind="winning_post",site="a"} 1',
    'cuzk_partition_phase_seconds_count{proof_kind="winning_post",phase="gpu",site="a"} 1',
    'cuzk_faults_total{fault="verifyFailed",site="a"} 1',
    `cuzk_memory_total_bytes{site="a"} ${2 ** 32}`,
  ]) {
    expect(labelsSorted(text)).toContain(labelsSorted(line))
  }
  stop()
  expect(await register.metrics()).toBe('\n')
  await Promise.all([engine.close(), other.close()])
})

test('a misspelt option is refused, with what is meant, and leaves nothing in the registry', async () => {
  const register = new Registry()
  const engine = await new FakeMachine().engine()
  expect(() => collectPrometheus(engine, { registry: register } as object)).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_OPTIONS',
      message: 'option registry: expected one of register, labels, got "registry"; did you mean register?',
    }),
  )
  expect(await register.metrics()).toBe('\n')
  await engine.close()
})

/** The order of labels in a line means nothing. */
function labelsSorted(text: string): string {
  return text.replaceAll(/\{([^}]*)\}/g, (_, labels: string) => `{${labels.split(',').sort().join()}}`)
}
