import { chromium } from 'playwright-core'
import { findProgram } from '@gatehouse/testing'
import { started } from '../support/program.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { loaded } from './page.ts'
const out = '/tmp/deliver-shots'
const program = await started()
const printed = program.stdout()
const browser = await chromium.launch({ executablePath: findProgram('chromium')!, args: ['--no-sandbox'] })
try {
  const secret = /client +demo +secret (\S+)/.exec(printed)![1]!
  const auth = `Basic ${Buffer.from(`demo:${secret}`).toString('base64')}`
  const tokenOf = async (scope: string) => ((await (await fetch(`${program.url}/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'client_credentials', scope }), headers: { authorization: auth } })).json()) as any).access_token
  const token = await tokenOf('write:notifications admin:notifications')
  const call = async (method: string, path: string, body?: unknown) => { const r = await fetch(program.url + path, { method, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: body ? JSON.stringify(body) : null }); const t = await r.text(); if (!r.ok) console.log(method, path, r.status, t); try { return JSON.parse(t) } catch { return t } }
  const types = { items: (await call('GET', '/v1/event-types?limit=200')).items.filter((t: any) => t.event.includes('.')) }
  console.log(JSON.stringify(types).slice(0, 3000))
  const users = ['alice', 'bob', 'carla.meyer', 'd.okafor', '018f3c2a-77aa-7c11-9f00-3b1d5f0c1a2e']
  for (const u of users.slice(1)) await call('PUT', `/v1/recipients/${u}`, { email: `${u}@example.com`, ...(u === 'bob' ? {} : { phone_number: '+447700900123' }), locale: 'en' })
  await call('PUT', '/v1/users/bob/preferences/order.shipped', { channels: [] })
  let id = ''
  for (let n = 0; n < 30; n++) {
    const event = types.items[n % types.items.length].event
    const r = await call('POST', '/v1/notify', { event, user_id: users[n % 5], data: { order_id: `A-10${n}`, name: 'Alice', code: '123456', actor: {name: 'x'} }, ...(n % 4 === 0 ? { channels: ['push', 'email', 'sms', 'in-app'] } : {}), ...(n % 6 === 0 ? { dedup_key: `k${n % 12}` } : {}) })
    if (r.id && n % 4 === 0 && users[n % 5] === 'alice') id = r.id
  }
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const faults = watchFaults(page, (t) => t.startsWith('Failed to load resource'))
  await page.goto(`${program.url}/console/`)
  await signInOnPages(page, 'alice', seededPassword(printed))
  await page.getByRole('heading', { level: 1 }).waitFor()
  const shots: [string, string][] = [
    ['list', '/notifications'],
    ['one', `/notifications/${id}`],
    ['content', `/notifications/${id}?tab=content`],
    ['request', `/notifications/${id}?tab=request`],
    ['why-bob', '/why?event=order.shipped&user=bob'],
    ['why-alice', '/why?event=order.shipped&user=alice'],
    ['why-none', '/why?event=order.shipped&user=nobody'],
    ['send', '/send?event=order.shipped&user=alice'],
  ]
  const only = process.argv.slice(2)
  for (const [name, path] of shots) {
    if (only.length > 0 && !only.some((o) => name.startsWith(o))) continue
    await page.goto(`${program.url}/console${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await loaded(page)
    await page.waitForTimeout(1200)
    for (const [scheme, width] of [['light', 1280], ['dark', 390], ['light', 320], ['dark', 1280]] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.setViewportSize({ width, height: 900 })
      await page.waitForTimeout(250)
      const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      if (Number(over) > 0) console.log(name, width, 'too wide by', over)
      await page.screenshot({ path: `${out}/${name}-${width}-${scheme}.png`, fullPage: true })
    }
    await page.setViewportSize({ width: 1280, height: 900 })
  }
  console.log('faults', faults)
} finally {
  await browser.close()
  await program.stop()
}
