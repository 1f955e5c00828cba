/**
 * What a job states. Neither the public inputs nor their sum over the key's points need a proof: they are made while
 * devices work, so that what is left to verify takes some milliseconds. For the 25,839 inputs of a WindowPoSt of 32 GiB
 * sectors it would be 0.2 s, and twice that the first time.
 */
import type { PreparedInputs, PublicInputs } from '../groth16/verify.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import type { Job, Partition } from './job.ts'
import { type PartitionSteps, verifying } from './partition-steps.ts'

/** Made once a job, as soon as somebody asks. */
export class JobStatement implements AsyncDisposable {
  readonly #steps: PartitionSteps
  readonly #job: Job
  readonly #derive: () => Promise<PublicInputs>
  #derived: Promise<PublicInputs> | undefined
  #location: ParametersLocation | undefined
  #prepared: Promise<PreparedInputs | undefined> = Promise.resolve(undefined)

  /** @param derive rejects with the job's reason once that is aborted */
  constructor(steps: PartitionSteps, job: Job, derive: () => Promise<PublicInputs>) {
    this.#steps = steps
    this.#job = job
    this.#derive = derive
  }

  /** @throws `job.signal.reason` */
  publicInputs(): Promise<PublicInputs> {
    this.#derived ??= this.#derive()
    return this.#derived
  }

  /** Begins to prepare the verification of all partitions; called again it does nothing. */
  begin(location: ParametersLocation): void {
    if (this.#location !== undefined) return
    this.#location = location
    // Verification does what could not be done ahead, and tells why it can't.
    this.#prepared = this.#prepare(location).catch(() => undefined)
  }

  /** What has been prepared with a key, if anything. Settles when nothing is in the making any more; never rejects. */
  async prepared({ vkDigest }: { readonly vkDigest: string }): Promise<PreparedInputs | undefined> {
    const prepared = await this.#prepared
    return this.#location?.vkDigest === vkDigest ? prepared : undefined
  }

  /** Waits until nothing is in the making: it stops when the job's signal aborts. Never rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#prepared
  }

  async #prepare(location: ParametersLocation): Promise<PreparedInputs> {
    const publicInputs = await this.publicInputs()
    const [first] = this.#job.partitions as readonly [Partition]
    return await this.#steps.synthesizer.prepareInputs({ location, publicInputs }, verifying(this.#steps, first))
  }
}
