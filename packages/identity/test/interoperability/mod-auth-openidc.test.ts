import assert from 'node:assert/strict'
import { freePort, startApache, testWith } from '@gatehouse/testing'
import { users } from '../support/journey.ts'
import { Person, startIdentity } from '../support/live.ts'

testWith(
  'libapache2-mod-auth-openidc',
  'Apache’s mod_auth_openidc signs in, reads claims and honours back-channel logout',
  async () => {
    const port = await freePort()
    const callback = `http://localhost:${port}/protected/callback`
    const party = {
      client_id: 'apache',
      client_secret: 'apache-secret-0123456789',
      redirect_uris: [callback],
      backchannel_logout_uri: `${callback}?logout=backchannel`,
      scopes: ['openid', 'profile', 'email', 'offline_access'],
    }
    const server = await startIdentity({ users, clients: [party] }, { loopbackCalls: true })
    const apache = await startApache({
      port,
      files: { 'protected/secret.html': 'protected content' },
      directives: [
        `OIDCProviderMetadataURL ${server.issuer}/.well-known/openid-configuration`,
        `OIDCClientID ${party.client_id}`,
        `OIDCClientSecret ${party.client_secret}`,
        `OIDCRedirectURI ${callback}`,
        'OIDCCryptoPassphrase 0123456789abcdef0123456789abcdef',
        'OIDCScope "openid profile email offline_access"',
        'OIDCPKCEMethod S256',
        'OIDCInfoHook id_token userinfo refresh_token',
        '<Location /protected>',
        '  AuthType openid-connect',
        '  Require claim email:alice@example.com',
        // Node's fetch does not mark its requests as navigation.
        '  OIDCUnAuthAction auth "true"',
        '</Location>',
      ],
    })
    try {
      const person = new Person()
      const secret = new URL(`${apache.url}/protected/secret.html`)
      const inside = await person.browse(secret)
      assert.deepEqual([inside.address.href, inside.text], [secret.href, 'protected content'])
      const info = JSON.parse((await person.browse(new URL(`${callback}?info=json`))).text)
      assert.deepEqual([info.id_token.iss, info.userinfo.sub], [server.issuer, 'alice'])
      assert.equal(info.userinfo.email, 'alice@example.com')
      assert.match(info.refresh_token, /^rt_/)
      const logout = await person.browse(new URL(`${server.issuer}/end_session`), 'leave')
      assert.match(logout.text, /Signed out/)
      for (let shut = false; !shut; ) shut = (await person.look(secret)).startsWith(`${server.issuer}/authorize`)
    } finally {
      await apache.stop()
      await server.close()
    }
  },
)
