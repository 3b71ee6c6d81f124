import cluster, { type Worker } from 'node:cluster'
import { isUnavailable, type StartError } from '@gatehouse/kit'
import { exitCodes, type SupervisorMessage, type Topic, type WorkerAbout, type WorkerMessage } from './messages.ts'
import { Questions } from './questions.ts'

/** What the supervisor may order of a worker. */
export interface Orders {
  reload(): void
  stop(graceMs: number): void
}

/** The worker's end of the channel to its supervisor. */
export class Supervision {
  /** The number of this worker, from 1. */
  readonly worker: number
  readonly #process: Worker
  readonly #answers = new Map<Topic, () => Promise<unknown>>()
  readonly #questions = new Questions(
    (message) => this.#send(message),
    async (topic) => this.#answers.get(topic)?.(),
  )
  #orders: Orders | undefined
  /** Whether an order to stop waits until this worker is ready. */
  #defersStop = false
  #deferredGraceMs: number | undefined

  constructor(process: Worker, worker: number) {
    this.#process = process
    this.worker = worker
    process.on('message', (message: SupervisorMessage) => this.#receive(message))
    // Node would end the process at once when the supervisor is gone; it finishes what is under way instead.
    process.on('disconnect', () => {
      process.exitedAfterDisconnect = true
      this.#questions.close()
      this.#stop(0)
    })
  }

  /** Answers the supervisor's questions about a topic. */
  answer(topic: Topic, reply: () => Promise<unknown>): void {
    this.#answers.set(topic, reply)
  }

  /** Resolves with what the supervisor gathered from all workers; undefined where it doesn't answer in time. */
  ask(topic: Topic, timeoutMs: number): Promise<unknown> {
    return this.#questions.ask(topic, timeoutMs)
  }

  /**
   * From now on an order to stop, and a SIGTERM, are followed when this worker is ready: what the first run makes is shown
   * once, by the supervisor.
   */
  deferStop(): void {
    this.#defersStop = true
    process.on('SIGTERM', () => this.#stop(0))
  }

  /** This worker listens, and follows orders from now on. */
  ready(about: WorkerAbout, orders: Orders): void {
    this.#orders = orders
    this.#send({ type: 'ready', about })
    if (this.#deferredGraceMs !== undefined) orders.stop(this.#deferredGraceMs)
  }

  /** Ends the process: it can't start. Wrong settings are never retried, a server that was unavailable is. */
  async refuse(error: StartError): Promise<never> {
    const isTemporary = mayPass(error)
    await this.#sent({ type: 'refused', message: error.message, isTemporary })
    process.exit(isTemporary ? exitCodes.unavailable : exitCodes.settings)
  }

  /** Leaves the final metrics with the supervisor. */
  leave(metrics: unknown): Promise<void> {
    return this.#sent({ type: 'last-metrics', metrics })
  }

  #receive(message: SupervisorMessage): void {
    switch (message.type) {
      case 'question':
      case 'answer':
        this.#questions.receive(message)
        break
      case 'heartbeat':
        this.#send({ type: 'alive' })
        break
      case 'reload':
        this.#orders?.reload()
        break
      case 'stop':
        this.#stop(message.graceMs)
        break
    }
  }

  #stop(graceMs: number): void {
    if (this.#orders) this.#orders.stop(graceMs)
    else if (this.#defersStop) this.#deferredGraceMs = graceMs
    else process.exit(0)
  }

  #send(message: WorkerMessage): void {
    void this.#sent(message)
  }

  /** Resolves once the message is sent, or can't be: the supervisor is gone. */
  #sent(message: WorkerMessage): Promise<void> {
    return new Promise((done) => {
      if (this.#process.isConnected()) this.#process.send(message, undefined, () => done())
      else done()
    })
  }
}

/** Whether a start failed for what may pass by itself, such as a server that was unavailable. */
export function mayPass({ isTemporary, cause }: StartError): boolean {
  return isTemporary ?? (isUnavailable(cause) || isUnavailable((cause as Error | undefined)?.cause))
}

/** Reports to the supervisor and waits for a number; undefined where this process is not a worker of one. */
export async function joinSupervisor(): Promise<Supervision | undefined> {
  const { worker } = cluster
  if (!worker) return undefined
  // A terminal sends it to the whole group, as it does SIGHUP; the supervisor decides what they mean for its workers.
  process.on('SIGINT', () => {})
  return new Promise((resolve) => {
    worker.on('message', (message: SupervisorMessage) => {
      // Built at once: what comes right after it, such as an order to stop, would have no listener yet.
      if (message.type === 'start') resolve(new Supervision(worker, message.worker))
    })
    worker.send({ type: 'hello' } satisfies WorkerMessage)
  })
}
