import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRedisAddress } from '../../src/config/environment/redis-address.ts'

const addresses = [
  ['redis://127.0.0.1', { kind: 'server', nodes: [{ host: '127.0.0.1', port: 6379 }], tls: false }],
  [
    'rediss://user:p%40ss:word@cache.example:6380/2',
    {
      kind: 'server',
      nodes: [{ host: 'cache.example', port: 6380 }],
      tls: true,
      username: 'user',
      password: 'p@ss:word',
      db: 2,
    },
  ],
  [
    'redis://:secret@[::1]:6379',
    { kind: 'server', nodes: [{ host: '::1', port: 6379 }], tls: false, password: 'secret' },
  ],
  [
    'redis+sentinel://one:26379,two/mymaster',
    {
      kind: 'sentinel',
      nodes: [
        { host: 'one', port: 26379 },
        { host: 'two', port: 26379 },
      ],
      tls: false,
      group: 'mymaster',
    },
  ],
  [
    'rediss+sentinel://:secret@one/mymaster/3?sentinel_username=watch&sentinel_password=dog',
    {
      kind: 'sentinel',
      nodes: [{ host: 'one', port: 26379 }],
      tls: true,
      password: 'secret',
      group: 'mymaster',
      db: 3,
      sentinelUsername: 'watch',
      sentinelPassword: 'dog',
    },
  ],
  [
    'redis+cluster://a:7000,b:7001',
    {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
      ],
      tls: false,
    },
  ],
] as const

for (const [text, expected] of addresses) {
  test(`the counter store may be named ${text}`, () => assert.deepEqual(parseRedisAddress(text), expected))
}

for (const [text, why] of [
  ['http://host', 'another protocol'],
  ['redis+sentinel://one,two', 'Sentinels without the name of a group'],
  ['redis://one,two', 'two servers'],
  ['redis+cluster://one/1', 'a database of a Cluster'],
  ['redis://one:70000', 'a port that is none'],
  ['redis://one/first', 'a database that is no number'],
  ['redis://one?family=6', 'an unknown parameter'],
] as const) {
  test(`${why} is no address of a counter store`, () => assert.equal(parseRedisAddress(text), undefined))
}
