import type { IncomingMessage } from 'node:http'
import type { StreamEvent } from './stream-reader.ts'

/** Hands out each event of a stream, and `undefined` for each comment alone. */
export function readEvents(response: IncomingMessage, take: (event: StreamEvent | undefined) => void): void {
  let rest = ''
  response.setEncoding('utf8')
  response.on('error', () => {})
  response.on('data', (chunk: string) => {
    const blocks = `${rest}${chunk}`.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.split(': ', 1)[0], line.replace(/^\w+: /, '')]))
      if (block.startsWith(':')) take(undefined)
      const data = fields.get('data')
      if (data !== undefined)
        take({ event: fields.get('event') ?? '', id: Number(fields.get('id')), data: JSON.parse(data) })
    }
  })
}
