/** Looks which parameters a folder has, tells the process that started this one, and ends. */
import { lookForParameters } from './look-for-parameters.ts'

// An orderly exit would wait for the call that hangs.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
const report = [...(await lookForParameters(process.argv[2] as string))]
process.send?.(report, () => process.exit(0))
