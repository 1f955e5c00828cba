/** Entry of a synthesis worker: holds nothing between calls, so it may be terminated whenever none is in flight. */
import { serveWorker } from '../device/worker-link.ts'
import { verifyFunctions } from './verify-functions.ts'
import { synthesisFunctions } from './worker-functions.ts'

serveWorker({ ...synthesisFunctions, ...verifyFunctions })
