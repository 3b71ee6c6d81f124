import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../../support/console.ts'
import { type Program, started } from '../../support/program.ts'

/** A token of the demo client, which may administer keys and roles in a first run. */
async function demoToken({ url, stdout }: Program, scope: string): Promise<string> {
  const secret = /client +demo +secret (\S+)/.exec(stdout())?.[1] ?? assert.fail('no secret was printed')
  return tokenOf(url, { id: 'demo', secret }, scope)
}

async function tokenOf(url: string, { id, secret }: { id: string; secret: string }, scope: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  const { access_token: token } = (await answer.json()) as { access_token?: string }
  return token ?? assert.fail(`no token: ${answer.status}`)
}

describe('roles, keys and differences from the file, in a browser', () => {
  const { tab, program, faults, faultless, fitsPhone, heading, open, toast } = consoleOfSuite({
    start: () => started({ env: { LOG_LEVEL: 'info' } }),
    first: ['/administrators', 'Administrators'],
  })

  /** A client for the roles of organizations, which the owner registers. */
  const registered = () =>
    tab().evaluate<{ id: string; secret: string }>(`(async () => {
      const client = { client_id: 'roles', grant_types: ['client_credentials'], scopes: ['admin:organizations'] }
      const headers = { 'x-console': '1', 'content-type': 'application/json' }
      const request = { method: 'POST', headers, body: JSON.stringify(client) }
      const made = await (await fetch('/console/api/admin/v1/clients', request)).json()
      return { id: made.client_id, secret: made.client_secret }
    })()`)

  testWith('chromium', 'an owner changes what a role allows, and takes it back', async () => {
    const role = tab().getByRole('region', { name: 'gatehouse-support' })
    const change = role.getByRole('button', { name: 'Change scopes: gatehouse-support' })
    const dialog = tab().getByRole('dialog', { name: 'Change scopes: gatehouse-support' })
    await change.click()
    await dialog.getByRole('checkbox', { name: 'read:audit' }).check()
    await faultless('the scopes of a role')
    await fitsPhone()
    await dialog.getByRole('button', { name: 'Save the scopes' }).click()
    await dialog.waitFor({ state: 'detached' })
    await role.getByText('changed', { exact: true }).waitFor()
    await change.click()
    await dialog.getByRole('button', { name: 'As the role comes' }).click()
    await dialog.getByRole('button', { name: 'Save the scopes' }).click()
    await dialog.waitFor({ state: 'detached' })
    await role.getByText('changed', { exact: true }).waitFor({ state: 'detached' })
    const owners = tab().getByRole('region', { name: 'gatehouse-owner' })
    assert.equal(await owners.getByRole('button', { name: /Change scopes/ }).count(), 0)
  })

  testWith('chromium', 'a role that another owner changed meanwhile is not written over', async () => {
    const change = tab().getByRole('button', { name: 'Change scopes: gatehouse-support' })
    const dialog = tab().getByRole('dialog', { name: 'Change scopes: gatehouse-support' })
    await change.click()
    await dialog.getByRole('checkbox', { name: 'read:audit' }).check()
    const again = await tab().evaluate<number>(`(async () => {
      const address = '/console/api/admin/v1/roles/gatehouse-support'
      const headers = { 'x-console': '1', 'content-type': 'application/json' }
      await fetch(address, { method: 'PUT', headers, body: JSON.stringify({ scopes: ['read:accounts'] }) })
      const before = performance.getEntriesByName(location.origin + address).length
      for (const name of ['offline', 'online']) dispatchEvent(new Event(name))
      // What the page reads again when it has a network has been answered by then.
      await fetch('/console/api/admin/v1/roles/gatehouse-auditor', { headers })
      return performance.getEntriesByName(location.origin + address).length - before
    })()`)
    await dialog.getByRole('button', { name: 'Save the scopes' }).click()
    await dialog.getByText('Somebody else changed this meanwhile').waitFor()
    assert.equal(again, 0, 'what is being edited is not read again by itself')
    await dialog.getByRole('button', { name: 'As the role comes' }).click()
    await dialog.getByRole('button', { name: 'Save mine' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  testWith('chromium', 'a whole API key is found, and is in no address and no log', async () => {
    const token = await demoToken(program(), 'admin:api-keys')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ owner: 'demo', name: 'of a partner' })
    const made = await fetch(`${program().url}/admin/v1/api-keys`, { method: 'POST', headers, body })
    const { id, key, prefix } = (await made.json()) as { id: string; key: string; prefix: string }
    const addresses: string[] = []
    tab().on('request', (request) => addresses.push(request.url()))
    await tab().keyboard.press('Escape')
    await tab().keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).fill(key)
    await tab().getByText('of a partner').click()
    await tab().getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    await tab().getByText(`${prefix}…`).waitFor()
    assert.ok(!addresses.some((address) => address.includes(key)))
    assert.ok(!program().stdout().includes(key))
    assert.ok(!tab().url().includes(key))
    await open('/clients', 'Clients')
    await tab().keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).fill(id)
    await tab().getByText('of a partner').waitFor()
    await tab().keyboard.press('Escape')
  })

  testWith('chromium', 'a permission is released once no role has it any more', async () => {
    const token = await tokenOf(program().url, await registered(), 'admin:organizations')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const put = async (role: string, ...permissions: string[]) => {
      const body = JSON.stringify({ permissions })
      const address = `${program().url}/admin/v1/organization-roles/${role}`
      assert.equal((await fetch(address, { method: 'PUT', headers, body })).status, 204)
    }
    await tab().evaluate('document.activeElement?.blur()')
    await tab().keyboard.press('g')
    await tab().keyboard.press('j')
    await heading('Permissions')
    await tab().getByText('Name, second factor and domains of the organization.').waitFor()
    await put('editor', 'read:orders', 'write:orders', 'https://api.example.com/orders')
    await put('editor', 'read:orders')
    await open('/permissions', 'Permissions')
    const rows = tab().getByRole('table', { name: 'Permissions' }).getByRole('row')
    await rows.filter({ hasText: 'read:orders' }).getByText('editor', { exact: true }).waitFor()
    await rows.filter({ hasText: 'write:orders' }).getByText('no role', { exact: true }).waitFor()
    await rows
      .filter({ hasText: 'api.example.com' })
      .getByText('Released at the API only: its name has a slash.')
      .waitFor()
    const releases = tab().getByRole('button', { name: /^Release/ })
    assert.equal(await releases.count(), 1)
    const release = tab().getByRole('button', { name: 'Release: write:orders' })
    const dialog = tab().getByRole('dialog')
    const confirm = async () => {
      await release.click()
      await dialog.getByLabel('Type write:orders to confirm.').fill('write:orders')
      await dialog.getByRole('button', { name: 'Release' }).click()
    }
    await faultless('the permissions')
    await fitsPhone()
    await put('author', 'write:orders')
    await confirm()
    await dialog.getByRole('alert').filter({ hasText: 'author' }).waitFor()
    await tab().keyboard.press('Escape')
    await rows.filter({ hasText: 'write:orders' }).getByText('author', { exact: true }).waitFor()
    assert.equal(await release.count(), 0)
    await put('author')
    await open('/permissions', 'Permissions')
    await confirm()
    await toast('The permission was released.')
    await rows.filter({ hasText: 'write:orders' }).waitFor({ state: 'detached' })
    await rows.getByRole('link', { name: 'Clients that may request it read:orders' }).click()
    await heading('Clients')
    assert.equal(await tab().getByLabel('Scope').inputValue(), 'read:orders')
  })

  testWith('chromium', 'the system has the sizes of tables, and names what differs from the file', async () => {
    await open('/system', 'System')
    const drift = tab().getByRole('region', { name: 'Differences from the file' })
    await drift.getByText('Everything is as the file declares it').waitFor()
    const sizes = tab().getByRole('region', { name: 'Tables' })
    await sizes.getByRole('button', { name: /Show all \d+ tables/ }).click()
    await sizes.getByText('identity.account', { exact: true }).waitFor()
    await tab().goto(`${program().url}/console/users/alice`)
    await tab().getByRole('button', { name: 'Edit' }).click()
    const dialog = tab().getByRole('dialog')
    await dialog.getByLabel('Plan').fill('pro')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await open('/system', 'System')
    await drift.getByRole('link', { name: 'alice', exact: true }).waitFor()
    await faultless('the system')
    await fitsPhone()
    assert.deepEqual(faults(), [])
  })
})
