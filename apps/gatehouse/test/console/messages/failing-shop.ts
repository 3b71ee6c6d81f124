import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fake, type HttpMessage, startHttp } from '@gatehouse/fakes'
import { type Program, started } from '../../support/program.ts'
import { declaredShop, eventually, openShop } from '../../support/shop.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Who signs in to repair it. */
export const repairer = { id: 'olga', password: 'who repairs the shop' } as const

/** A shop whose mails go to a provider that fails when it is told to. */
export interface FailingShop {
  readonly program: Program
  readonly provider: Fake<HttpMessage>
  /** Notifies so many customers of an event, whose mails the provider rejects for good. */
  fail(event: string, count: number): Promise<void>
  call: Awaited<ReturnType<typeof openShop>>['shop']['call']
  stop(): Promise<void>
}

/** Starts the program with the shop, its provider and a second one of the same channel. */
export async function openFailingShop(): Promise<FailingShop> {
  const provider = await startHttp({ secret })
  const folder = await mkdtemp(join(tmpdir(), 'failing-shop-'))
  const config = join(folder, 'gatehouse.yaml')
  const entry = (name: string) => `    - { provider: http, name: ${name}, url: '${provider.url}', secret: '${secret}' }`
  const events = ['order.shipped', 'order.delayed'].map((event) => `  - { event: ${event}, channels: [email] }`)
  const declared = `providers:\n  email:\n${entry('post')}\n${entry('spare')}\nevent_types:\n${events.join('\n')}\n`
  const plans = 'tiers:\n  free: { rpm: 100000, daily: 1000000 }\n'
  const owner = `users:\n  - { id: ${repairer.id}, password: ${repairer.password}, roles: [gatehouse-owner] }\n`
  await writeFile(config, `${plans}${declaredShop}${declared}notify:\n  cap: 1000\n${owner}`)
  const program = await started({ env: { GATEHOUSE_CONFIG: config } })
  const { shop } = await openShop(program.url, ['email'])
  await shop.call('PUT', '/v1/templates/order.delayed/email/en', {
    subject: 'Delayed',
    body: 'Order {{ id }} is late.',
  })
  let customers = 0
  const letters = async () =>
    ((await shop.call('GET', '/v1/dead-letters?limit=200')) as { items: object[] }).items.length
  return {
    program,
    provider,
    call: (method, path, body) => shop.call(method, path, body),
    async fail(event, count) {
      const before = await letters()
      provider.answerNext({ status: 422, body: { error: 'the sender is not verified' } }, count)
      for (let n = 0; n < count; n++) {
        const user_id = `customer-${++customers}`
        await shop.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
        await shop.call('POST', '/v1/notify', { event, user_id, data: { id: `A-${customers}` } })
      }
      await eventually(letters, (found) => found === before + count)
    },
    async stop() {
      await program.stop()
      await provider.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
