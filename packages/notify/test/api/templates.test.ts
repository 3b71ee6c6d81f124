import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Setup, seedEventType, setup } from '../support/setup.ts'

describe('templates', () => {
  let s: Setup
  before(async () => {
    s = await setup({ work: false })
    await seedEventType(s)
  })
  after(() => s.close())

  const admin = 'user:olga role:gatehouse-owner admin:notifications read:personal-data'
  const put = (path: string, body: object) => s.call('PUT', `/v1/templates/${path}`, body, admin)
  const get = async (path: string) => (await s.call('GET', `/v1/templates${path}`, undefined, admin)).body

  test('a version says who wrote it, when and why, and one version is read by its number', async () => {
    await put('welcome/sms/en', { body: 'One', comment: 'first words' })
    await put('welcome/sms/en', { body: 'Two', publish: false })
    const one = await get('/welcome/sms/en/1')
    assert.deepEqual(
      [one.body, one.created_by, one.comment, one.published, Date.parse(one.created_at)],
      ['One', 'olga', 'first words', true, s.clock.now()],
    )
    assert.deepEqual([(await get('/welcome/sms/en/2')).body, (await get('/welcome/sms/en')).version], ['Two', 1])
    assert.equal((await s.call('GET', '/v1/templates/welcome/sms/en/3')).status, 404)
    assert.equal((await s.call('GET', '/v1/templates/welcome/sms/en/two')).status, 400)
  })

  test('a summary lists drafts too and no words; filters name the template, channel and locale', async () => {
    await put('Parcel.lost/email/en', { subject: 'S', body: 'Long words', publish: false })
    await put('parcel.found/sms/de', { body: 'Kurz' })
    const places = ({ items }: { items: Record<string, string>[] }) =>
      items.map(({ template_id: id, channel, locale }) => `${id} ${channel} ${locale}`)
    const all = await get('?summary=true&q=PARCEL')
    assert.deepEqual(places(all), ['Parcel.lost email en', 'parcel.found sms de'])
    assert.deepEqual([all.items[0].published, all.items[0].latest, all.items[0].body], [false, 1, undefined])
    assert.equal(all.default_locale, 'en')
    assert.deepEqual(places(await get('?q=parcel')), ['parcel.found sms de'], 'the published ones')
    assert.deepEqual(places(await get('?summary=true&q=parcel&channel=email')), ['Parcel.lost email en'])
    assert.deepEqual(places(await get('?summary=true&q=parcel&locale=DE')), ['parcel.found sms de'])
    const first = await get('?summary=true&q=parcel&limit=1')
    const second = await get(`?summary=true&q=parcel&limit=1&cursor=${encodeURIComponent(first.next)}`)
    assert.deepEqual([...places(first), ...places(second), second.next], [...places(all), undefined])
    const versions = await get('/parcel.found?summary=true&channel=sms&locale=de')
    assert.deepEqual([versions.items.length, versions.items[0].body], [1, undefined])
  })

  test('of a summary the version in use counts, not the highest one', async () => {
    await put('news/push/en', { body: 'One' })
    await put('news/push/en', { body: 'Two', publish: false, comment: 'not yet' })
    const [text] = (await get('?summary=true&q=news')).items
    assert.deepEqual([text.version, text.latest, text.published, text.comment], [1, 2, true, undefined])
  })

  test('samples are replaced as they were read, and of two who do it at once one wins', async () => {
    const path = '/v1/templates/welcome/samples'
    const one = { items: [{ name: 'Ann', data: { name: 'Ann', n: 1 } }] }
    const empty = await s.call('GET', path, undefined, admin)
    assert.deepEqual(empty.body, { items: [] })
    const send = (body: object, ifMatch: string) =>
      s.http.inject({
        method: 'PUT',
        url: path,
        headers: { authorization: `Bearer ${admin}`, 'if-match': ifMatch },
        payload: body,
      })
    const tag = String(empty.headers.etag)
    const both = await Promise.all([send(one, tag), send({ items: [{ name: 'Bob', data: {} }] }, tag)])
    assert.deepEqual(both.map(({ statusCode }) => statusCode).toSorted(), [200, 412])
    const stored = await s.call('PUT', path, one, admin)
    assert.deepEqual((await s.call('GET', path, undefined, admin)).body, one)
    assert.equal((await s.call('GET', path, undefined, admin)).headers.etag, stored.headers.etag)
    const masked = await s.call('GET', path, undefined, 'user:sue read:settings')
    assert.deepEqual(masked.body.items, [{ name: 'Ann', data: { name: 'string', n: 'number' } }])
    assert.equal((await s.call('PUT', path, one, 'user:sue read:settings')).status, 403)
  })
})
