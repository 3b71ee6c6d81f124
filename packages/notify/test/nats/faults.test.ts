import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { about, isAway, isTemporary, isTooLarge, UnfitSettings } from '../../src/nats/faults.ts'

const apiError = (status: number, code: number) =>
  new JetStreamApiError({ code: status, err_code: code, description: 'as the server says' })
const noResponders = new Error('jetstream is not enabled', {
  cause: new errors.RequestError('', { cause: new errors.NoRespondersError('$JS.API.INFO') }),
})

test('what passes by itself is temporary, and what fails however often it is tried is not', () => {
  const passing = [
    new errors.TimeoutError(),
    noResponders,
    apiError(503, 10_008),
    new errors.ConnectionError('connection refused'),
    new errors.AuthorizationError("'Authentication Timeout'"),
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  ]
  for (const error of passing) assert.equal(isTemporary(error), true, error.message)
  const lasting = [
    new UnfitSettings('another mapping'),
    new errors.AuthorizationError('Authorization Violation'),
    new errors.UserAuthenticationExpiredError('User Authentication Expired'),
    new errors.PermissionViolationError('Permissions Violation', 'publish', '$JS.API.INFO'),
  ]
  for (const error of lasting) assert.equal(isTemporary(error), false, error.message)
  for (const error of lasting) assert.equal(isTemporary(about('a stream', error)), false, error.message)
})

test('a stream is away where nobody answers for it, and not where it is missing', () => {
  for (const error of [new errors.TimeoutError(), noResponders, apiError(503, 10_008), apiError(500, 10_118)])
    assert.equal(isAway(about('the stream A', error)), true, error.message)
  for (const error of [apiError(404, 10_059), apiError(400, 10_074), new UnfitSettings('another subject')])
    assert.equal(isAway(error), false, error.message)
})

test('a message is too large for the server, or for one stream', () => {
  assert.equal(isTooLarge(errors.InvalidArgumentError.format('payload', 'max_payload')), true)
  assert.equal(isTooLarge(apiError(400, 10_054)), true)
  assert.equal(isTooLarge(apiError(503, 10_077)), false)
})

test('an error says what it is about, once', () => {
  const error = about('the stream A', new errors.TimeoutError())
  assert.equal(error.message, 'the stream A: timeout')
  assert.equal(about('the stream A', error), error)
})
