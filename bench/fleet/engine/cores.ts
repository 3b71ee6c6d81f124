import { Queue } from './queue.ts'
import type { Simulation } from './simulation.ts'

interface Task {
  readonly workMs: number
  readonly onDone: () => void
  readonly onLost: () => void
  readonly epoch: number
}

const ignore = () => {}

/** So many processor cores that serve tasks in the order of their arrival, one core a task. */
export class Cores {
  readonly #simulation: Simulation
  readonly #count: number
  readonly #waiting = new Queue<Task>()
  readonly #running = new Set<Task>()
  #epoch = 0
  #isDown = false
  #frozenUntil = 0
  #busyMs = 0

  constructor(simulation: Simulation, count: number) {
    this.#simulation = simulation
    this.#count = count
  }

  /** Processor time used so far, of all cores together, in milliseconds. */
  get busyMs(): number {
    return this.#busyMs
  }

  get count(): number {
    return this.#count
  }

  /** Tasks that wait for a core. */
  get waiting(): number {
    return this.#waiting.length
  }

  get isDown(): boolean {
    return this.#isDown
  }

  /** Serves a task of so many milliseconds. `onLost` is called instead of `onDone` where the cores fail before its end. */
  submit(workMs: number, onDone: () => void, onLost: () => void = ignore): void {
    if (this.#isDown) {
      onLost()
      return
    }
    this.#waiting.push({ workMs, onDone, onLost, epoch: this.#epoch })
    this.#startNext()
  }

  /** Serves so many tasks of so many milliseconds each; `onDone` when all are, or `onLost`. */
  submitParts(workMs: number, parts: number, onDone: () => void, onLost: () => void): void {
    let open = parts
    let isLost = false
    const end = () => {
      if (--open === 0) (isLost ? onLost : onDone)()
    }
    for (let part = 0; part < parts; part++)
      this.submit(workMs, end, () => {
        isLost = true
        end()
      })
  }

  /** Loses every task; until {@link start} new ones are lost at once. */
  fail(): void {
    const lost = [...this.#running, ...this.#waiting.takeAll()]
    this.#running.clear()
    this.#epoch++
    this.#isDown = true
    for (const task of lost) task.onLost()
  }

  start(): void {
    this.#isDown = false
  }

  /** Stops all tasks for a time; they continue afterwards. */
  freeze(milliseconds: number): void {
    this.#frozenUntil = this.#simulation.now + milliseconds
    this.#simulation.after(milliseconds, () => this.#startNext())
  }

  get isFrozen(): boolean {
    return this.#simulation.now < this.#frozenUntil
  }

  #startNext(): void {
    while (this.#running.size < this.#count && !this.isFrozen) {
      const task = this.#waiting.shift()
      if (!task) return
      this.#running.add(task)
      this.#simulation.after(task.workMs, () => this.#end(task))
    }
  }

  #end(task: Task): void {
    if (task.epoch !== this.#epoch) return
    if (this.isFrozen) {
      this.#simulation.after(this.#frozenUntil - this.#simulation.now, () => this.#end(task))
      return
    }
    this.#running.delete(task)
    this.#busyMs += task.workMs
    task.onDone()
    this.#startNext()
  }
}
