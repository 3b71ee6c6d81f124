import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after } from 'node:test'
import { clientCredentials, createGatehouse } from '@gatehouse/client'
import { findProgram, freePort, temporaryFolder, testWith } from '@gatehouse/testing'
import { chromium } from 'playwright-core'

const root = resolve(import.meta.dirname, '../..')
const bin = join(root, 'node_modules/.bin')

/** A project elsewhere that has installed the component as it is published, with the example in it. */
function product(): string {
  const folder = temporaryFolder('gatehouse-example-inbox')
  const tools = { env: { ...process.env, PATH: `${bin}:${process.env.PATH}` }, stdio: 'pipe' } as const
  const component = join(root, 'packages/inbox')
  execFileSync('npm', ['run', 'build'], { ...tools, cwd: component })
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { ...tools, cwd: component }).toString(),
  )
  const installed = join(folder, 'node_modules/@gatehouse/inbox')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['xzf', join(folder, packed.filename), '--strip-components=1', '-C', installed])
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of ['web-app.ts', 'page.html']) cpSync(join(import.meta.dirname, name), join(folder, name))
  return folder
}

/** Starts a program and waits until it has said something; answers what matched. */
async function start(args: readonly string[], cwd: string, env: Record<string, string>, says: RegExp) {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  for await (const text of child.stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ?? []) {
    output += text
    if (says.test(output)) break
  }
  child.stdout?.resume()
  return {
    output,
    async stop() {
      child.kill()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

testWith(
  'chromium',
  'a product that installed the component shows the inbox of whoever signs in, live, from another origin',
  async () => {
    const [port, own] = [await freePort(), await freePort()]
    const issuer = `http://localhost:${port}`
    const data = temporaryFolder('gatehouse-example-data')
    const file = join(data, 'gatehouse.yaml')
    writeFileSync(
      file,
      JSON.stringify({
        clients: [
          {
            client_id: 'demo-web',
            token_endpoint_auth_method: 'none',
            redirect_uris: [`http://localhost:${own}/callback`],
            grant_types: ['authorization_code', 'refresh_token'],
            scopes: ['openid', 'offline_access', 'read:notifications', 'write:preferences'],
          },
          {
            client_id: 'shop',
            client_secret: 'the-secret-of-the-shop-here',
            grant_types: ['client_credentials'],
            scopes: ['write:notifications'],
          },
        ],
        cors_origins: [`http://localhost:${own}`],
        users: [{ id: 'alice', password: 'the-password-of-alice', plan: 'pro' }],
        templates: join(root, 'templates'),
        event_types: [{ event: 'order.shipped', channels: ['in-app'] }],
      }),
    )
    const env = { PORT: String(port), DATA_DIR: join(data, 'db'), GATEHOUSE_CONFIG: file, LOG_LEVEL: 'warn' }
    const gatehouse = await start(['apps/gatehouse/src/main.ts'], root, env, /is ready after/)
    after(() => gatehouse.stop())
    const example = await start(['web-app.ts'], product(), { PORT: String(own), ISSUER: issuer }, /open http/)
    after(() => example.stop())
    const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
    after(() => browser.close())
    const tab = await browser.newPage()
    await tab.goto(`http://localhost:${own}/`)
    await tab.fill('#username', 'alice')
    await tab.fill('#password', 'the-password-of-alice')
    await tab.click('button')
    if (await tab.locator('button[value=allow]').count()) await tab.click('button[value=allow]')
    await tab.getByText('Good to see you, alice').waitFor()
    const shop = { clientId: 'shop', clientSecret: 'the-secret-of-the-shop-here' }
    const client = createGatehouse({ baseUrl: issuer, credentials: clientCredentials({ issuer, ...shop }) })
    const order = { order_id: 'E-1', item: 'a tent', name: 'Alice', tracking_url: 'https://shop.example' }
    await client.notify({ event: 'order.shipped', user_id: 'alice', data: order })
    await tab.locator('.badge', { hasText: /^1$/ }).waitFor()
    await tab.waitForFunction("document.title === '(1) A product'")
    await tab.locator('.bell').click()
    await tab.locator('li.item button.open').click()
    await tab.locator('#opened', { hasText: 'E-1' }).waitFor()
    await tab.locator('li.item:not(.unread)').waitFor()
  },
)
