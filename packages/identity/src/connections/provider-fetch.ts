import type { CustomFetch } from 'openid-client'
import { type SafeRequest, type SafeResponse, safeFetch } from '../http/safe-fetch.ts'

/** How long a single call to a provider may take, in milliseconds. */
export const providerCallMs = 5_000
/** Of Entra's key set, the largest known response, several times. */
const maxBytes = 256 * 1024
/** Statuses whose responses have no body (Fetch Standard, null body status). */
const bodiless = [101, 103, 204, 205, 304]

/** Sends a request as {@link safeFetch} does. */
export type ProviderFetch = (address: string, request: SafeRequest) => Promise<SafeResponse>

/** Sends requests to providers: https only, not into private networks, without redirects, bounded in time and size. */
export function createProviderFetch(loopback: boolean): ProviderFetch {
  return (address, request) => safeFetch(address, { timeoutMs: providerCallMs, maxBytes, ...request, loopback })
}

/** The same in the form that openid-client calls. */
export function asCustomFetch(send: ProviderFetch): CustomFetch {
  return async (address, { method, headers, body }) => {
    const {
      status,
      headers: fields,
      body: text,
    } = await send(address, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body === undefined || body === null ? {} : { body: String(body) }),
    })
    const { 'content-encoding': _encoding, ...rest } = fields
    return new Response(bodiless.includes(status) ? null : text, { status, headers: rest })
  }
}
