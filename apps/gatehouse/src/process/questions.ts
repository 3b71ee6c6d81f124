import type { Exchange, Topic } from './messages.ts'

/** Questions to another process and the answers to its questions, over a channel that may break at any time. */
export class Questions {
  readonly #send: (message: Exchange) => void
  readonly #answers: (topic: Topic) => Promise<unknown>
  readonly #open = new Map<number, (content: unknown) => void>()
  #last = 0

  /** `answers` resolves with what this side says to a topic; a rejection is sent as no content. */
  constructor(send: (message: Exchange) => void, answers: (topic: Topic) => Promise<unknown>) {
    this.#send = send
    this.#answers = answers
  }

  /** Resolves with the answer, or with undefined where none comes in time or the other side has none. */
  ask(topic: Topic, timeoutMs: number): Promise<unknown> {
    const id = ++this.#last
    return new Promise((resolve) => {
      const settle = (content: unknown) => {
        clearTimeout(timer)
        this.#open.delete(id)
        resolve(content)
      }
      const timer = setTimeout(settle, timeoutMs, undefined)
      this.#open.set(id, settle)
      this.#send({ type: 'question', id, topic })
    })
  }

  /** Handles a message of the other side. */
  receive(message: Exchange): void {
    if (message.type === 'answer') {
      this.#open.get(message.id)?.(message.content)
      return
    }
    const { id, topic } = message
    this.#answers(topic).then(
      (content) => this.#send({ type: 'answer', id, content }),
      () => this.#send({ type: 'answer', id, content: undefined }),
    )
  }

  /** No answer will come any more. */
  close(): void {
    for (const settle of [...this.#open.values()]) settle(undefined)
  }
}
