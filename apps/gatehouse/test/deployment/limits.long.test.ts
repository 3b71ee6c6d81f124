import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApart } from '../support/apart.ts'
import { demoToken } from '../support/demo-client.ts'
import { until } from '../support/processes.ts'

interface Live {
  readonly items: readonly { readonly services: readonly string[]; readonly version: number }[]
}

test('a gateway apart follows stored limits, and keeps the last while identity is away', async (context) => {
  const { gateway, identity, programs } = await startApart()
  context.after(async () => {
    for (const program of programs) await program.stop('SIGKILL')
  })
  const authorization = `Bearer ${await demoToken({ url: gateway.url, stdout: identity.stdout })}`
  const limit = async () => {
    const read = await fetch(`${gateway.url}/admin/v1/limits`, { headers: { authorization } })
    assert.equal(read.status, 200, await read.text())
    return read.headers.get('x-ratelimit-limit')
  }
  assert.equal(await limit(), '100')

  const put = async (rpm: number) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const declaration = JSON.stringify({ declaration: { rpm, daily: 100_000 } })
    const path = '/admin/v1/limit-settings/tiers/pro'
    const made = await fetch(`${gateway.url}${path}`, { method: 'PUT', headers, body: declaration })
    const text = await made.text()
    assert.equal(made.status, 200, text)
    return (JSON.parse(text) as { version: number }).version
  }
  const version = await put(150)
  await until('the gateway applies the version', 15_000, async () => {
    const read = await fetch(`${identity.url}/admin/v1/limit-settings/gateways`, { headers: { authorization } })
    const { items } = (await read.json()) as Live
    return items.some((one) => one.services.includes('gateway') && one.version === version)
  })
  assert.equal(await limit(), '150')

  await identity.stop('SIGKILL')
  assert.equal(await limit(), '150', 'what was read last stays')
})
