/** How a request reached the gateway, as the forwarding headers of the upstream request say it. */
export interface Forwarding {
  /** X-Forwarded-For of a trusted proxy, which the gateway continues; undefined when the peer is not trusted. */
  readonly chain: string | undefined
  /** The address at the other end of the connection. */
  readonly peer: string
  readonly proto: string
  readonly host: string
}
