/** The status in cuzk's words: every field of its snapshot, with the values of ours. */
import { expect, test } from 'vitest'
import { toCuzkStatus } from '../../src/cuzk-status.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { until, useFakeTime, value } from '../support/fake-time.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

test('has exactly the fields of cuzk’s snapshot, while a job runs and another waits', async () => {
  const machine = new FakeMachine({ devices: 2, unitMs: 10, development: true })
  const engine = await value(machine.engine({ synthesis: { concurrency: 2, lookahead: 0 } }))
  const first = engine.prove({ ...syntheticWindowRequest('2k', 4), requestId: 'wdpost-1000-0' })
  await until(() => machine.running.prove === 2)
  const second = engine.prove({ ...syntheticWindowRequest('2k', 2), priority: 'low' })
  await until(() => engine.status().queue.queued === 1)
  const status = engine.status()
  const row = { circuit_id: 'wpost-2k', bytes: expect.any(Number), last_used_secs_ago: 0, evictable: false }
  const worker = { gpu_sub_id: 0, state: 'proving', current_job: status.jobs[0]?.job.id, busy_secs: expect.any(Number) }
  const none = { 'porep-c2': 0, 'snap-update': 0, 'window-post': 0, 'winning-post': 0 }
  expect(toCuzkStatus(status)).toEqual({
    uptime_secs: status.uptimeMs / 1000,
    memory: {
      total_bytes: 2 ** 32,
      used_bytes: status.memory.usedBytes,
      available_bytes: 2 ** 32 - status.memory.usedBytes,
    },
    synthesis: { max_concurrent: 2, active: 0 },
    pipelines: [
      {
        job_id: status.jobs[0]?.job.id,
        proof_kind: 'window-post',
        started_secs_ago: expect.any(Number),
        total_partitions: 2,
        partitions_done: 0,
        partitions: [0, 1].map((index) => ({ index, state: 'gpu', synth_ms: 40, gpu_ms: null })),
      },
    ],
    gpu_workers: [0, 1].map((k) => ({ worker_id: k, gpu_ordinal: k, current_partition: k, ...worker })),
    allocations: { srs: [row], pce: [row] },
    counters: {
      total_completed: 0,
      total_failed: 0,
      completed_by_kind: none,
      failed_by_kind: none,
      queue_depth: 1,
    },
    buffers: { synth_in_flight: 0, provers_in_flight: 0, shells_in_flight: 0, aux_in_flight: 0, pending_handles: 0 },
  })
  await value(Promise.all([first, second]))
  const { counters, gpu_workers, pipelines } = toCuzkStatus(engine.status())
  expect(counters).toMatchObject({ total_completed: 2, completed_by_kind: { 'window-post': 2 }, queue_depth: 0 })
  expect(gpu_workers).toMatchObject([{ state: 'idle', current_job: null, busy_secs: null }, { state: 'idle' }])
  expect(pipelines.map(({ partitions_done }) => partitions_done)).toEqual([1, 2])
  expect(JSON.parse(JSON.stringify(toCuzkStatus(engine.status())))).toEqual(toCuzkStatus(engine.status()))
  await value(engine.close())
})
