import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../../support/console.ts'
import { type Program, started } from '../../support/program.ts'

/** A token of the demo client, which may administer keys and roles in a first run. */
async function demoToken({ url, stdout }: Program, scope: string): Promise<string> {
  const secret = /client +demo +secret (\S+)/.exec(stdout())?.[1] ?? assert.fail('no secret was printed')
  const authorization = `Basic ${Buffer.from(`demo:${secret}`).toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  return ((await answer.json()) as { access_token: string }).access_token
}

describe('roles, keys and differences from the file, in a browser', () => {
  const { tab, program, faults, faultless, fitsPhone, open } = consoleOfSuite({
    start: () => started({ env: { LOG_LEVEL: 'info' } }),
    first: ['/administrators', 'Administrators'],
  })

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
