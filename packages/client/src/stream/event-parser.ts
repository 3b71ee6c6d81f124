import { GatehouseError } from '../errors/gatehouse-error.ts'

/** A server-sent event (WHATWG HTML §9.2). */
export interface ServerSentEvent<Data = unknown> {
  /** Its type; `message` when the server names none. */
  readonly event: string
  /** The last id that the stream named, '' when it named none. */
  readonly id: string
  /** JSON where it is JSON, else a text. */
  readonly data: Data
}

const maxEventCharacters = 1_048_576

/** Parses the text of a stream, whatever the pieces that it comes in. */
export class EventParser {
  /** The id of the last complete event, which a stream is resumed after. */
  lastEventId: string
  /** Milliseconds that the server wants between attempts, when it said so. */
  retryMs: number | undefined
  #rest = ''
  #id: string
  #event = ''
  #data: string[] = []
  #size = 0

  constructor(lastEventId: string) {
    this.lastEventId = lastEventId
    this.#id = lastEventId
  }

  /** Takes the next piece and answers the events that it completes. @throws GatehouseError for an event over 1 Mi characters */
  push(text: string): ServerSentEvent[] {
    const whole = this.#rest + text
    // A \r at the end may be the first half of \r\n.
    const lines = whole.split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    if (this.#size + this.#rest.length > maxEventCharacters)
      throw new GatehouseError('an event of the stream is too long', { code: 'invalid_response' })
    return lines.flatMap((line) => this.#pushLine(line) ?? [])
  }

  #pushLine(line: string): ServerSentEvent | undefined {
    if (line === '') return this.#complete()
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    this.#size += value.length
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value)
    return undefined
  }

  #complete(): ServerSentEvent | undefined {
    const [event, lines] = [this.#event, this.#data]
    this.#event = ''
    this.#data = []
    this.#size = 0
    // Not before the event is complete: a stream that breaks within it is resumed before it.
    this.lastEventId = this.#id
    if (lines.length === 0) return undefined
    return { event: event || 'message', id: this.lastEventId, data: parseData(lines.join('\n')) }
  }
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
