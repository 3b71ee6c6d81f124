/** How an operation is called, as the API document says it. */
export interface OperationFacts {
  readonly method: string
  readonly path: string
  /** A credential with one of these scopes is enough; undefined where the operation is open to everybody. */
  readonly scopes?: readonly string[]
  /**
   * The input has the members of the body beside the parameters, or the body as its member `body`. Without a body, what
   * is no path parameter belongs to the query.
   */
  readonly body?: 'members' | 'value'
  /** The parameters of the query, where there is a body as well. */
  readonly query?: readonly string[]
  /** The media type of the body, when it is not JSON. */
  readonly contentType?: string
  /** Where the cursor of a list is sent. */
  readonly page?: 'query' | 'body'
  /** Whether it may be sent twice, whatever its method says; or the member that makes it so. */
  readonly idempotent?: boolean | string
  /** Whether the answer is always a stream of events. */
  readonly stream?: boolean
}
