import type { Worker } from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, StartError } from '@gatehouse/kit'
import type { SupervisorMessage, Topic, WorkerAbout, WorkerMessage } from '../process/messages.ts'
import { Questions } from '../process/questions.ts'

/** Heartbeats without a response after which a worker counts as blocked: one each second, more while it starts. */
const maxMissed = { starting: 60, listening: 10 } as const
const maxLastMessageMs = 1_000
/** A worker exits within 9 s of being stopped. */
const maxStopMs = 9_400

/**
 * How a worker ended: it was stopped, it refused to start (for good, or for a server that was unavailable, which may keep
 * it from listening in time as well), or it crashed or was blocked.
 */
export interface Ending {
  readonly cause: 'stopped' | 'refused' | 'unavailable' | 'crashed' | 'blocked'
  /** In words, for the log. */
  readonly reason: string
  /** How long it had listened, in milliseconds. */
  readonly listenedMs: number
}

/** What a worker's process is started with, and what it reports to. */
export interface WorkerProcessOptions {
  readonly number: number
  readonly process: Worker
  readonly clock: Clock
  /** Answers questions of the worker. */
  readonly answers: (topic: Topic) => Promise<unknown>
  /** Receives its metrics when it has stopped. */
  readonly onLastMetrics: (metrics: unknown) => void
}

/** One worker of the supervisor, from its start to its end. */
export class WorkerProcess {
  readonly number: number
  /** Its number as a label of metrics. */
  readonly worker: string
  /** Resolves once it listens. @throws StartError when it ends before */
  readonly ready: Promise<WorkerAbout>
  readonly ended: Promise<Ending>
  readonly #options: WorkerProcessOptions
  readonly #questions: Questions
  readonly #listening = Promise.withResolvers<WorkerAbout>()
  #listensSince: number | undefined
  #refusal: Extract<WorkerMessage, { type: 'refused' }> | undefined
  #missed = 0
  #isBlocked = false
  #isLate = false
  #isStopping = false

  constructor(options: WorkerProcessOptions) {
    const { number, process, answers } = options
    this.#options = options
    this.number = number
    this.worker = String(number)
    this.#questions = new Questions((message) => this.#send(message), answers)
    this.ready = this.#listening.promise
    this.ready.catch(() => {})
    this.ended = this.#ends()
    process.on('message', (message: WorkerMessage) => this.#receive(message))
  }

  get isListening(): boolean {
    return this.#listensSince !== undefined && !this.#isStopping
  }

  /** Resolves with its answer, or with undefined where none comes in time. */
  ask(topic: Topic, timeoutMs: number): Promise<unknown> {
    return this.#questions.ask(topic, timeoutMs)
  }

  /** Sends a heartbeat, to be called each second; ends a worker that has missed too many. */
  beat(): void {
    const max = this.#listensSince === undefined ? maxMissed.starting : maxMissed.listening
    if (this.#missed++ >= max) {
      this.#isBlocked = true
      this.kill()
    } else this.#send({ type: 'heartbeat' })
  }

  reload(): void {
    this.#send({ type: 'reload' })
  }

  /** Kills it where it does not listen within `maxMs`. */
  limitStart(maxMs: number): void {
    const tooLate = setTimeout(() => {
      this.#isLate = true
      this.kill()
    }, maxMs)
    const clear = () => clearTimeout(tooLate)
    this.ready.then(clear, clear)
  }

  /** Lets it finish what is under way and exit; kills it where it does not within ten seconds. */
  stop(graceMs: number): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#send({ type: 'stop', graceMs })
    const killing = setTimeout(() => this.kill(), maxStopMs)
    void this.ended.then(() => clearTimeout(killing))
  }

  kill(): void {
    this.#options.process.process.kill('SIGKILL')
  }

  #receive(message: WorkerMessage): void {
    this.#missed = 0
    switch (message.type) {
      case 'question':
      case 'answer':
        this.#questions.receive(message)
        break
      case 'hello':
        // It did not receive an order to stop that was sent before.
        if (this.#isStopping) this.kill()
        else this.#send({ type: 'start', worker: this.number })
        break
      case 'ready':
        this.#listensSince = this.#options.clock.now()
        this.#listening.resolve(message.about)
        break
      case 'refused':
        this.#refusal = message
        break
      case 'last-metrics':
        this.#options.onLastMetrics(message.metrics)
        break
    }
  }

  /** The end of the process, and of what it had sent before: its last messages may be read after its exit. */
  async #ends(): Promise<Ending> {
    const { process } = this.#options
    const disconnected = new Promise((resolve) => process.once('disconnect', resolve))
    const exit = await exitOf(process)
    if ('error' in exit) return this.#end({ cause: 'unavailable', reason: exit.error.message, listenedMs: 0 })
    await Promise.race([disconnected, pause(maxLastMessageMs, undefined, { ref: false })])
    return this.#end(this.#ending(exit.code, exit.signal))
  }

  #end(ending: Ending): Ending {
    this.#questions.close()
    this.#listening.reject(new StartError(ending.reason))
    return ending
  }

  #ending(code: number | null, signal: string | null): Ending {
    const listenedMs = this.#listensSince === undefined ? 0 : this.#options.clock.now() - this.#listensSince
    const how = signal ? `ended by ${signal}` : `exited with code ${code}`
    if (this.#refusal)
      return {
        cause: this.#refusal.isTemporary ? 'unavailable' : 'refused',
        reason: this.#refusal.message,
        listenedMs,
      }
    if (this.#isBlocked) return { cause: 'blocked', reason: 'did not respond for too long and was killed', listenedMs }
    if (this.#isLate) return { cause: 'unavailable', reason: 'did not listen for too long and was killed', listenedMs }
    if (this.#isStopping || code === 0) return { cause: 'stopped', reason: how, listenedMs }
    return { cause: 'crashed', reason: how, listenedMs }
  }

  #send(message: SupervisorMessage): void {
    const { process } = this.#options
    if (process.isConnected()) process.send(message, undefined, () => {})
  }
}

type Exit = { readonly code: number | null; readonly signal: string | null } | { readonly error: Error }

/** How a process ended, or why it never began. An error of a message to one that runs is followed by its end. */
function exitOf(worker: Worker): Promise<Exit> {
  return new Promise((resolve) => {
    worker.once('exit', (code: number | null, signal: string | null) => resolve({ code, signal }))
    worker.on('error', (error: Error) => {
      if (worker.process.pid === undefined) resolve({ error })
    })
  })
}
