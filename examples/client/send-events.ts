/**
 * Sends the events of a file, one of JSON on each line, however many there are; without one those of `events.jsonl` beside
 * this, whose event types and client are in `gatehouse.yaml`. The first run of the program shows the secret of the client.
 *
 *     CLIENT_SECRET=… node examples/client/send-events.ts
 */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { clientCredentials, createGatehouse, type NotifyRequest } from '@gatehouse/client'

const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const { CLIENT_ID: clientId = 'demo', CLIENT_SECRET: clientSecret = '' } = process.env
const credentials = clientCredentials({ issuer, clientId, clientSecret, scope: ['write:notifications'] })
const gatehouse = createGatehouse({ baseUrl: issuer, credentials })

const path = process.argv[2] ?? join(import.meta.dirname, 'events.jsonl')

async function* readEvents(): AsyncGenerator<NotifyRequest> {
  const file = await open(path)
  for await (const line of file.readLines()) yield JSON.parse(line)
}

let accepted = 0
for await (const line of gatehouse.notifyBulk(readEvents())) {
  if (line.ok) accepted++
  else console.error(`line ${line.index + 1}: ${line.error.message}`)
}
console.log(`${accepted} events were accepted`)
