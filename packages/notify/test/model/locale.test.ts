import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookUpLocale } from '../../src/model/locale.ts'
import { setup } from '../support/setup.ts'

test('a language tag is shortened part by part as RFC 4647 §3.4 says, in any case', () => {
  const cases = [
    [['zh-Hant-TW-x-private', 'en'], ['zh-Hant', 'en'], 'zh-Hant'],
    [['de-CH-1996-a-myext-x-foo'], ['de-CH'], 'de-CH'],
    [['DE_ch'], ['de'], 'de'],
    [['de-CH', 'en'], ['de-AT', 'en'], 'en'],
    [['de-CH', 'en'], ['en', 'de'], 'de'],
    [['fr-CA', 'de'], ['fr-FR', 'de'], 'de'],
    [['iw'], ['he'], 'he'],
    [['sr-Latn-RS'], ['sr-Cyrl', 'sr'], 'sr'],
    [['*', 'en'], ['en'], 'en'],
    [['', 'x-private', 'nb'], ['no', 'en'], undefined],
    [['en'], ['en-US', 'en-GB'], undefined],
  ] as const
  for (const [wanted, there, found] of cases)
    assert.equal(lookUpLocale(wanted, new Set<string>(there)), found, `${wanted} among ${there}`)
})

test('a user gets the text of their locale, else the default, and never an unrelated one', async (t) => {
  const s = await setup({ work: false, options: { locale: 'pt-BR' } })
  t.after(s.close)
  const write = (locale: string) => s.call('PUT', `/v1/templates/greeting/in-app/${locale}`, { body: `in ${locale}` })
  for (const locale of ['de', 'zh_hant', 'fr-CA']) assert.equal((await write(locale)).status, 200)
  await s.call('PUT', '/v1/event-types/greeting', { channels: ['in-app'] })
  const got: Record<string, string> = {}
  const ask = async (locale: string) => {
    await s.call('PUT', '/v1/recipients/ann', { locale })
    const { body } = await s.call('POST', '/v1/explain', { event: 'greeting', user_id: 'ann', data: {} })
    const [{ outcome, body: text, reason }] = body.channels
    got[locale] = text ?? `${outcome}: ${reason}`
  }
  for (const locale of ['de-CH', 'zh-Hant-TW', 'fr']) await ask(locale)
  const nothing = 'failed: the template greeting has no in-app text for fr, pt-BR, only for de, fr-CA, zh-Hant'
  assert.deepEqual(got, { 'de-CH': 'in de', 'zh-Hant-TW': 'in zh_hant', fr: nothing })
  await write('pt')
  await ask('fr')
  assert.equal(got.fr, 'in pt')
  assert.equal((await write('not a tag')).status, 400)
})
