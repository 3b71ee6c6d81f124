import { parentPort } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import apiReference from '@scalar/fastify-api-reference'
import { fastify } from 'fastify'

// The package holds the script as a text of 5 MB and hands it out by a route of its own only. It is read in a thread of
// its own, so that the process keeps the compressed script and nothing of the package.
const http = fastify()
await http.register(apiReference, { routePrefix: '/reader', configuration: { url: '/openapi.json' } })
const { rawPayload } = await http.inject('/reader/js/scalar.js')
await http.close()
parentPort?.postMessage(gzipSync(rawPayload))
