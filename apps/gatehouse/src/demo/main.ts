/**
 * Plays an hour of a shop against a fresh instance, over HTTP as a producer would, and checks what became of every
 * event. Exits 1 when something is not as it must be. With SMTP_URL set the mail goes there, else into the dev mailbox.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Acceptance } from '@gatehouse/client'
import { freePort } from '../config/free-port.ts'
import { repairDeadLetters } from './dead-letters.ts'
import { startInstance } from './instance.ts'
import { outcomeTable } from './outcome-table.ts'
import { Producer, play } from './producer.ts'
import { prepareRecipients } from './recipients.ts'
import { demoConfig, demoScript } from './script.ts'
import { readDeliveries, readGathered } from './settled.ts'
import { Tally } from './tally.ts'
import { timelineOf } from './timeline.ts'

const senders = 8
const script = demoScript()
const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-demo-'))
const secret = randomBytes(24).toString('base64url')
const port = await freePort()
const { PATH, HOME, TMPDIR, SMTP_URL, MAIL_FROM, LOG_LEVEL = 'warn' } = process.env
// Nothing else of the environment: a DATABASE_URL in it may be that of an installation at work.
const own = { DATA_DIR: dataDir, GATEHOUSE_CONFIG: demoConfig, DEMO_SECRET: secret }
const env = { PATH, HOME, TMPDIR, SMTP_URL, MAIL_FROM, LOG_LEVEL, ...own }

console.log(`A new instance on port ${port} with its data in ${dataDir}. It differs from the defaults in:`)
for (const difference of script.differences) console.log(`  ${difference}`)
const instance = await startInstance({ port, env })
const producer = new Producer({ url: instance.url, clientId: 'shop', clientSecret: secret })
await prepareRecipients(producer, script.users, script.quietUsers)

const started = performance.now()
const accepted: Acceptance[] = []
let answered = 0
await play(producer, script.events, senders, (_event, index, answer) => {
  accepted[index] = answer
  answered++
  if (process.stdout.isTTY) process.stdout.write(`\r  ${answered} of ${script.events.length} events accepted`)
})
const seconds = (performance.now() - started) / 1000
if (process.stdout.isTTY) process.stdout.write('\r')
console.log(
  `  ${script.events.length} events accepted in ${seconds.toFixed(1)} s; the producer was rate limited ${producer.waits} times`,
)

const outcomes = new Tally()
let faults = 0
for (const [index, event] of script.events.entries()) {
  const expected = script.expected[index] ?? {}
  const actual = Object.fromEntries(
    (accepted[index]?.deliveries ?? []).map(({ channel, outcome }) => [channel, outcome]),
  )
  for (const [channel, outcome] of Object.entries(actual)) outcomes.add(`${event.event} ${channel} ${outcome}`)
  if (JSON.stringify(sortEntries(actual)) === JSON.stringify(sortEntries(expected))) continue
  faults++
  if (faults <= 10)
    console.error(`  line ${index + 1}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
}

const ids = (outcome: string) =>
  accepted.filter(({ deliveries }) => deliveries.some((delivery) => delivery.outcome === outcome)).map(({ id }) => id)
const states = await readDeliveries(producer, [...new Set(ids('queued'))])
const unsent = states.filter(({ state }) => state === 'queued').length
const gathered = await readGathered(producer, [...new Set(ids('aggregated'))])
console.log(`\n${outcomeTable(outcomes, states)}\n`)
console.log(
  `Of the aggregated likes ${gathered.together} were sent in ${gathered.into.size} messages ("Ann, Bob and 3 others …"), ${gathered.apart} in messages of their own.`,
)
let unrepaired = 0
for (const { event, channel } of script.lacking) {
  const body = '{{ code }} is still good for {{ worth }}, until tomorrow night.'
  const repaired = await repairDeadLetters(producer, { event, channel, body })
  const expected = script.expected.filter(
    (of, index) => script.events[index]?.event === event && of[channel] === 'failed',
  )
  unrepaired +=
    Math.abs(expected.length - repaired.letters) + Math.abs(repaired.letters - repaired.sent) + repaired.left
  console.log(`\n${repaired.letters} dead letters of ${event} on ${channel}: ${repaired.detail}.`)
  console.log(
    `The template was added and ${repaired.replayed} were replayed: ${repaired.sent} sent, ${repaired.left} left. The timeline of one of them:`,
  )
  if (repaired.example) console.log(`${await timelineOf(producer, repaired.example)}\n`)
}
const where = SMTP_URL ? 'went over SMTP to SMTP_URL' : `is in the dev mailbox: ${instance.url}/dev/mailbox`
console.log(`The mail ${where}`)
const well = faults + unsent + gathered.lost + unrepaired === 0
console.log(
  well
    ? 'Every event had the expected outcome.'
    : `${faults} events had an unexpected outcome; ${unsent} deliveries were not sent; ${gathered.lost} likes were lost; ${unrepaired} dead letters were not repaired.`,
)

if (process.stdout.isTTY) {
  console.log('The instance runs until Ctrl-C.')
  await new Promise((resolve) => process.once('SIGINT', resolve))
}
instance.process.kill('SIGTERM')
await instance.ended
if (!process.stdout.isTTY)
  console.log(
    `To explore the data: PORT=${port} DATA_DIR=${dataDir} GATEHOUSE_CONFIG=examples/demo.yaml DEMO_SECRET=${secret} npm start`,
  )
process.exit(well ? 0 : 1)

function sortEntries(record: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
}
