// Compiles only while the surfaces of both packages are one: each is assigned to the other.

import * as edge from "../../dist/index.js";
import * as receiverAlone from "../../dist/receiver.js";
import * as node from "../../../sdk-node/dist/esm/index.js";

export const nodeOfEdge: typeof node = edge;
export const edgeOfNode: typeof edge = node;
export const receiverOfNode: typeof receiverAlone.Receiver = node.Receiver;
export const receiverOfEdge: typeof receiverAlone.Receiver = edge.Receiver;

export function clients(a: node.Chronq, b: edge.Chronq): [edge.Chronq, node.Chronq] {
  return [a, b];
}

export function receivers(a: node.Receiver, b: edge.Receiver): [edge.Receiver, node.Receiver] {
  return [a, b];
}
