import type { Log } from '@gatehouse/kit'
import { AckPolicy, type JetStreamManager } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { applySettings, changesStream, createMissing, intakeStream, isMissing, type StreamSettings } from './streams.ts'

/** Options of {@link Resources}. */
export interface ResourcesOptions {
  readonly manager: JetStreamManager
  readonly intake: StreamSettings
  readonly changes: StreamSettings
  /** Most messages that are delivered and not acknowledged, over all processes. */
  readonly maxAckPending: number
  readonly log: Log
}

/** The durable consumer of the intake, shared by all processes. */
export const durableName = 'notify'

const ackWaitMs = 30_000

/** The two streams and the consumer: creates what is missing, at the start and later. */
export class Resources {
  readonly #options: ResourcesOptions
  readonly #onLost = new Set<(error: Error) => void>()
  #timer: NodeJS.Timeout | undefined
  #preparing: Promise<void> | undefined
  #isSettled = false

  constructor(options: ResourcesOptions) {
    this.#options = options
  }

  /** Creates what is missing, and brings what exists to the settings at the first time. Calls at once share one run. */
  prepare(): Promise<void> {
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined
    })
    return this.#preparing
  }

  /** @throws when a stream or the consumer is missing, or the server does not answer */
  async verify(): Promise<void> {
    const { manager } = this.#options
    await Promise.all([
      manager.consumers.info(intakeStream.name, durableName),
      manager.streams.info(changesStream.name),
    ])
  }

  /** Calls `lost` when the consumer is found missing. Answers how to stop that. */
  onLost(lost: (error: Error) => void): () => void {
    this.#onLost.add(lost)
    return () => this.#onLost.delete(lost)
  }

  startChecks(everyMs: number): void {
    this.#timer = setInterval(() => this.checkSoon(), everyMs).unref()
  }

  stopChecks(): void {
    clearInterval(this.#timer)
  }

  /** Checks now that everything is there, without making anybody wait. */
  checkSoon(): void {
    this.#check().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the streams of NATS could not be checked')
    })
  }

  async #check(): Promise<void> {
    if (this.#preparing) return
    const fault = await this.verify().then(
      () => undefined,
      (error: Error) => error,
    )
    if (fault === undefined) return
    if (!isMissing(fault)) throw fault
    this.#options.log.error({ err: fault }, 'a stream or the consumer of NATS is gone; it is created again')
    await this.prepare()
    for (const lost of this.#onLost) lost(fault)
  }

  async #prepare(): Promise<void> {
    const { manager, log, maxAckPending } = this.#options
    for (const [definition, settings] of [
      [intakeStream, this.#options.intake],
      [changesStream, this.#options.changes],
    ] as const) {
      if (await createMissing(manager, definition, settings))
        log.info({ stream: definition.name }, 'a stream of NATS was created')
      else if (!this.#isSettled) await applySettings(manager, definition, settings, log)
    }
    this.#isSettled = true
    await manager.consumers.add(intakeStream.name, {
      durable_name: durableName,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: maxAckPending,
    })
  }
}
