import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'

/** A DNS server on this machine that answers questions for TXT records (RFC 1035 §4) by UDP. */
export interface DnsServer {
  /** Address and port. */
  readonly address: string
  /** The records by name. */
  readonly records: Map<string, readonly string[]>
  /** Whether it leaves questions unanswered. */
  silent: boolean
  close(): Promise<void>
}

const notFound = 3

export async function startDns(): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const records = new Map<string, readonly string[]>()
  const server = {
    records,
    silent: false,
    address: '',
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
  socket.on('message', (question, { port, address }) => {
    if (!server.silent) socket.send(answer(question, records), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  server.address = `127.0.0.1:${(socket.address() as AddressInfo).port}`
  return server
}

/** The response to a message with one question: its header, the question, and a record for each text. */
function answer(message: Buffer, records: ReadonlyMap<string, readonly string[]>): Buffer {
  const { name, end } = readName(message)
  const texts = records.get(name)
  const header = Buffer.alloc(12)
  message.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | (texts === undefined ? notFound : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(texts?.length ?? 0, 6)
  return Buffer.concat([header, message.subarray(12, end + 4), ...(texts ?? []).map(txtRecord)])
}

/** The labels of the question's name, and where it ends. */
function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

/** A record of the name in the question (a pointer to byte 12) of type TXT and class IN. */
function txtRecord(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  const head = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, bytes.length + 1, bytes.length])
  return Buffer.concat([head, bytes])
}
