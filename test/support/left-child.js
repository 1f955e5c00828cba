/** A process that gives a thread up in the middle of something, and then has nothing more to do. */
import { WorkerLink } from '../../dist/device/worker-link.js'

const file = new URL('./fault-worker.js', import.meta.url)
const link = new WorkerLink(file, 'is in the middle', undefined, { endsBy: 'stop' })
await link.call('echo', {})
link.call('block', Number(process.argv[2])).catch(() => {})
await link.terminate()
console.log('given up, then it')
