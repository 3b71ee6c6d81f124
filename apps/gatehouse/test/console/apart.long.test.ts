import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { freePort } from '@gatehouse/testing'
import { ownPage, Person } from '../../../console/test/support/person.ts'
import { Producer } from '../../src/demo/producer.ts'
import { sharedSecrets } from '../support/apart.ts'
import { type Program, started } from '../support/program.ts'

/** What a stream of server-sent events said until a text is in it. */
async function readUntil(answer: Response, wanted: RegExp): Promise<string> {
  assert.equal(answer.status, 200, answer.status === 200 ? '' : await answer.text())
  const reader = (answer.body ?? assert.fail('no body')).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!wanted.test(text)) {
    const { done, value } = await reader.read()
    assert.ok(!done, `the stream ended with ${text}`)
    text += value
  }
  await reader.cancel()
  return text
}

describe('the console in a process of its own, the services in three others', () => {
  const programs: Program[] = []
  let person: Person
  let gateway: Program
  let producer: Producer
  before(async () => {
    const [identityPort, gatewayPort, consolePort] = [await freePort(), await freePort(), await freePort()]
    const [identityUrl, consoleUrl] = [`http://localhost:${identityPort}`, `http://localhost:${consolePort}`]
    const env = {
      ...sharedSecrets,
      AUTH_URL: identityUrl,
      BASE_URL: `http://localhost:${gatewayPort}`,
      CONSOLE_URL: consoleUrl,
      CONSOLE_CLIENT_SECRET: 'the-secret-of-the-console-in-this-test',
    }
    const start = async (port: number, services: string, more: Record<string, string> = {}) => {
      const program = await started({ port, env: { ...env, ...more, SERVICES: services } })
      programs.unshift(program)
      return program
    }
    const identity = await start(identityPort, 'identity')
    const notify = await start(await freePort(), 'notify', { IDENTITY_URL: identityUrl })
    const addresses = { IDENTITY_URL: identityUrl, NOTIFY_URL: notify.url }
    gateway = await start(gatewayPort, 'gateway', addresses)
    await start(consolePort, 'console', { ...addresses, GATEWAY_URL: gateway.url })
    const [, alice = ''] = /user +alice +password (\S+)/.exec(identity.stdout()) ?? []
    person = new Person(consoleUrl)
    const answer = await person.signIn('alice', alice)
    assert.equal(answer.status, 200, await answer.text())
    const [, secret = ''] = /client +demo +secret (\S+)/.exec(identity.stdout()) ?? []
    producer = new Producer({ url: gateway.url, clientId: 'demo', clientSecret: secret })
  })
  after(async () => {
    for (const program of programs) await program.stop()
  })
  const notify = () =>
    producer.notify({ event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] })
  const open = (path: string) => person.request(path, { headers: ownPage })

  test('each process says how it is, what its tables measure and what differs from the file', async () => {
    const read = async (part: string) => {
      const answer = await person.api(`/system/${part}`)
      assert.equal(answer.status, 200, part)
      return ((await answer.json()) as { items: { services: string[]; answer?: { items?: object[] } }[] }).items
    }
    const status = await read('status')
    assert.deepEqual(status.map(({ services }) => services.join()).toSorted(), ['gateway', 'identity', 'notify'])
    assert.ok(status.every(({ answer }) => answer !== undefined))
    const schemas = (await read('storage')).flatMap(({ answer }) => answer?.items ?? []) as { schema: string }[]
    assert.deepEqual([...new Set(schemas.map(({ schema }) => schema))].toSorted(), ['identity', 'notify'])
    assert.ok((await read('drift')).every(({ answer }) => answer?.items?.length === 0))
  })

  test('a notification is followed live, from its service in another process', async () => {
    const { id } = await notify()
    const text = await readUntil(await open(`/console/live?topic=notification:${id}`), /"event":"timeline"/)
    assert.match(text, new RegExp(`"topic":"notification:${id}"`))
  })

  test('lists say that something is new, from a service in another process', async () => {
    const answer = await open('/console/live?topic=notifications')
    const changed = readUntil(answer, /"topic":"notifications","event":"changed"/)
    const pulse = setInterval(() => void notify().catch(() => {}), 1_000)
    await changed.finally(() => clearInterval(pulse))
  })

  test('the counters of every service are followed', async () => {
    for (const service of ['identity', 'notify', 'gateway'])
      await readUntil(await open(`/console/api/live/${service}`), /event: counters\ndata: \{"at":/)
  })
})
