import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { runSnippet } from '../../snippets/run.ts'
import { consoleOfSuite } from '../../support/console.ts'
import { started } from '../../support/program.ts'

describe('a client from its registration to its end, in a browser', () => {
  const { tab, program, faults, heading, reach, press, faultless } = consoleOfSuite({
    start: () => started(),
    first: ['/clients', 'Clients'],
  })
  const secretShown = async () => ((await tab().locator('code.secret').textContent()) ?? '').trim()

  /** Whether the client gets a token with each secret. */
  const accepts = async (id: string, ...secrets: string[]) => {
    const requests = secrets.map((secret) => {
      const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
      const body = new URLSearchParams({ grant_type: 'client_credentials' })
      return fetch(`${program().url}/token`, { method: 'POST', body, headers: { authorization } })
    })
    return (await Promise.all(requests)).map(({ status }) => status === 200)
  }

  /** What the snippet that is shown prints, with the secret in its environment. */
  const useSnippet = async (secret: string) => {
    const text = (await tab().getByRole('region', { name: 'curl' }).textContent()) ?? ''
    const printed = await runSnippet('curl', text, { GATEHOUSE_CLIENT_SECRET: secret })
    return JSON.parse(printed) as { readonly scope: string; readonly access_token: string }
  }

  testWith('chromium', 'by mouse it is registered, used, given two secrets and then one, and deleted', async () => {
    await tab().getByRole('link', { name: 'Register a client' }).click()
    await heading('Register a client')
    await tab().getByText('Service', { exact: true }).click()
    await tab().getByRole('button', { name: 'Next' }).click()
    await tab().getByRole('textbox', { name: 'Name' }).fill('Order export')
    await tab().getByRole('combobox', { name: 'Scopes' }).fill('orders:read ')
    await tab().getByRole('button', { name: 'Register a client' }).click()
    await heading('Order export is registered')
    const first = await secretShown()
    assert.equal((await useSnippet(first)).scope, 'orders:read')

    await tab().getByRole('button', { name: 'Open the client' }).click()
    await heading('Order export')
    const renew = async (overlap: string) => {
      await tab().getByRole('button', { name: 'New secret: order-export' }).click()
      const dialog = tab().getByRole('dialog', { name: 'New secret' })
      await dialog.getByLabel('The old one stays valid for').selectOption(overlap)
      await dialog.getByRole('textbox').fill('order-export')
      await dialog.getByRole('button', { name: 'New secret' }).click()
      await dialog.waitFor({ state: 'detached' })
      return secretShown()
    }
    const second = await renew('a day')
    await tab().getByText('two secrets are valid').waitFor()
    assert.deepEqual(await accepts('order-export', first, second), [true, true])
    const third = await renew('no time: it ends at once')
    assert.deepEqual(await accepts('order-export', first, second, third), [false, false, true])

    assert.equal(await tab().evaluate(renameClient, ['order-export', 'Export of orders'] as const), 200)
    await tab().getByRole('button', { name: 'Delete' }).click()
    const deletion = tab().getByRole('dialog')
    await deletion.getByRole('textbox').fill('order-export')
    await deletion.getByRole('button', { name: 'Delete' }).click()
    const changed = deletion.getByRole('row', { name: /^client_name/ })
    await changed.waitFor()
    assert.deepEqual(await changed.locator('td').allInnerTexts(), ['client_name', 'Order export', 'Export of orders'])
    await faultless('a client that somebody else changed')
    assert.deepEqual(await accepts('order-export', third), [true], 'it was not deleted')
    await deletion.getByRole('button', { name: 'Delete' }).click()
    await heading('Clients')
    assert.deepEqual(await accepts('order-export', third), [false])
  })

  testWith('chromium', 'by keyboard alone the same is done', async () => {
    const keys = tab().keyboard
    const field = (role: 'textbox' | 'combobox', name: string) => tab().getByRole(role, { name, exact: true })
    await tab().goto(`${program().url}/console/users`)
    await heading('Users')
    await keys.press('g')
    await keys.press('c')
    await heading('Clients')
    await reach(tab().getByRole('link', { name: 'Register a client', exact: true }))
    await keys.press('Enter')
    await heading('Register a client')
    await reach(tab().getByRole('radio', { name: 'Web application' }))
    for (let count = 0; count < 3; count++) await keys.press('ArrowDown')
    await press('Next')
    await reach(field('textbox', 'Name'))
    await keys.type('Key export')
    await reach(field('combobox', 'Scopes'))
    await keys.type('orders:read')
    await keys.press('Enter')
    await press('Register a client')
    await heading('Key export is registered')
    const first = await secretShown()
    assert.equal((await useSnippet(first)).scope, 'orders:read')
    await press('Open the client')
    await heading('Key export')

    await press('New secret: key-export')
    await tab().getByRole('dialog', { name: 'New secret' }).waitFor()
    await reach(field('textbox', 'Type key-export to confirm.'))
    await keys.type('key-export')
    await keys.press('Enter')
    await tab().getByText('The new secret, shown only now').waitFor()
    const second = await secretShown()
    assert.deepEqual(await accepts('key-export', first, second), [true, true])

    await tab().getByRole('dialog', { name: 'New secret' }).waitFor({ state: 'detached' })
    await press('Delete')
    await tab().getByRole('dialog').waitFor()
    await reach(field('textbox', 'Type key-export to confirm.'))
    await keys.type('key-export')
    await keys.press('Enter')
    await heading('Clients')
    assert.deepEqual(await accepts('key-export', second), [false])
    assert.deepEqual(faults(), [])
  })
})

/** Runs in the page, as somebody else with the same session. */
async function renameClient([id, name]: readonly [string, string]): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-console': '1' }
  const body = JSON.stringify({ client_name: name })
  return (await fetch(`/console/api/admin/v1/clients/${id}`, { method: 'PATCH', headers, body })).status
}
