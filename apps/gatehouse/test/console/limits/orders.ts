import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type ConsoleTab, openConsole } from '../../support/console.ts'
import { type Program, started } from '../../support/program.ts'

interface Context {
  after(stop: () => unknown): void
}

/** The program with a configuration of this folder, before an upstream that answers everything. */
export async function startWithOrders(
  context: Context,
  config: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const upstream = createServer((_request, response) => response.end('an order'))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  context.after(() => upstream.close())
  const program = await started({
    env: {
      GATEHOUSE_CONFIG: join(import.meta.dirname, config),
      ORDERS_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
      ...env,
    },
  })
  context.after(() => program.stop())
  return program
}

/** The owner of these configurations. */
export const owner = { username: 'owner', password: 'owner in the console' }

/** The console, with the owner signed in. */
export async function consoleOfOwner(context: Context, program: Program): Promise<ConsoleTab> {
  const opened = await openConsole(context, program)
  await opened.tab().goto(`${program.url}/console/`)
  await opened.signIn(owner)
  await opened.tab().getByRole('heading', { level: 1 }).waitFor()
  return opened
}

/** What the gateway answered: the status, and the limit that it told. */
export interface Answered {
  readonly status: number
  readonly limit: string | null
}

/** A client on the tier free, which reads orders. */
export async function importer({ url }: Program): Promise<() => Promise<Answered>> {
  const authorization = `Basic ${Buffer.from('importer:importer-secret-0123456789').toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:orders' })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return async () => {
    const { status, headers } = await fetch(`${url}/orders/7`, { headers: { authorization: `Bearer ${token}` } })
    return { status, limit: headers.get('x-ratelimit-limit') }
  }
}

/** Sends until an answer is as expected: a gateway applies a change within five seconds. */
export async function sendUntil(send: () => Promise<Answered>, expected: Partial<Answered>): Promise<void> {
  const deadline = AbortSignal.timeout(20_000)
  for (let last = await send(); ; last = await send()) {
    if (Object.entries(expected).every(([name, value]) => last[name as keyof Answered] === value)) return
    assert.ok(!deadline.aborted, `${JSON.stringify(last)} never became ${JSON.stringify(expected)}`)
  }
}
