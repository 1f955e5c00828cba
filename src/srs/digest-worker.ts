/** Entry of the thread that hashes parameters while they are written. */
import { serveWorker } from '../device/worker-link.ts'
import { digestFunctions } from './digest-functions.ts'

serveWorker(digestFunctions)
