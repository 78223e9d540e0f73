package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"serval.test/clients/wire/inference"
	"serval.test/clients/wire/serving"
	"serval.test/clients/wire/tensorflow"
)

const (
	waitMax     = 60 * time.Second
	largeCount  = 2_000_000
	largeBytes  = 16 << 20
	atOnce      = 64
	callsEach   = 20
	streamCount = 200
)

// By name; each answers what is wrong.
var cases = []struct {
	name string
	run  func(context.Context, *grpc.ClientConn) error
}{
	{"metadata and readiness", metadata},
	{"ModelInfer with raw and typed contents", infer},
	{"ModelInfer of 8 MB", inferLarge},
	{"ModelInfer packed with gzip", inferPacked},
	{"many calls at once on one connection", inferMany},
	{"ModelStreamInfer in order, errors in their place", streamInfer},
	{"ModelStreamInfer that is cancelled", streamCancelled},
	{"deadline and cancellation", deadline},
	{"statuses of what is not there", missing},
	{"Predict and GetModelStatus", predict},
	{"Classify's and Regress's refusals", classify},
	{"health: Check and Watch", health},
	{"a method that is not there", unimplemented},
}

func rawFloats(values []float32) []byte {
	raw := make([]byte, 4*len(values))
	for i, value := range values {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(value))
	}
	return raw
}

func request(model, id string, values []float32) *inference.ModelInferRequest {
	return &inference.ModelInferRequest{
		ModelName: model,
		Id:        id,
		Inputs: []*inference.ModelInferRequest_InferInputTensor{
			{Name: "input", Datatype: "FP32", Shape: []int64{1, int64(len(values))}},
		},
		RawInputContents: [][]byte{rawFloats(values)},
	}
}

// The reply's one output is what was sent.
func checkSame(reply *inference.ModelInferResponse, id string, values []float32) error {
	if reply.GetId() != id || len(reply.GetRawOutputContents()) != 1 {
		return fmt.Errorf("id %q with %d outputs", reply.GetId(), len(reply.GetRawOutputContents()))
	}
	if !bytes.Equal(reply.GetRawOutputContents()[0], rawFloats(values)) {
		return fmt.Errorf("id %q: other values came back", id)
	}
	return nil
}

func expectCode(err error, code codes.Code, text string) error {
	if status.Code(err) != code {
		return fmt.Errorf("expected %v, got %v", code, err)
	}
	if !bytes.Contains([]byte(status.Convert(err).Message()), []byte(text)) {
		return fmt.Errorf("expected %q in %q", text, status.Convert(err).Message())
	}
	return nil
}

func metadata(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	server, err := stub.ServerMetadata(ctx, &inference.ServerMetadataRequest{})
	if err != nil || server.GetName() == "" || len(server.GetExtensions()) == 0 {
		return fmt.Errorf("ServerMetadata: %v, %v", server, err)
	}
	model, err := stub.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: "identity_fp32"})
	if err != nil || len(model.GetInputs()) != 1 || model.GetInputs()[0].GetDatatype() != "FP32" {
		return fmt.Errorf("ModelMetadata: %v, %v", model, err)
	}
	ready, err := stub.ModelReady(ctx, &inference.ModelReadyRequest{Name: "identity_fp32"})
	if err != nil || !ready.GetReady() {
		return fmt.Errorf("ModelReady: %v, %v", ready, err)
	}
	return nil
}

func infer(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	values := []float32{0.5, -1, float32(math.Inf(1))}
	reply, err := stub.ModelInfer(ctx, request("identity_fp32", "raw", values))
	if err != nil {
		return err
	}
	if err := checkSame(reply, "raw", values); err != nil {
		return err
	}
	typed := request("identity_fp32", "typed", values)
	typed.RawInputContents = nil
	typed.Inputs[0].Contents = &inference.InferTensorContents{Fp32Contents: values}
	if reply, err = stub.ModelInfer(ctx, typed); err != nil {
		return err
	}
	return checkSame(reply, "typed", values)
}

func ramp(count int) []float32 {
	values := make([]float32, count)
	for i := range values {
		values[i] = float32(i)
	}
	return values
}

func inferLarge(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	values := ramp(largeCount)
	reply, err := stub.ModelInfer(ctx, request("identity_fp32", "large", values),
		grpc.MaxCallRecvMsgSize(largeBytes))
	if err != nil {
		return err
	}
	return checkSame(reply, "large", values)
}

func inferPacked(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	for _, count := range []int{1, 100_000} {
		values := ramp(count)
		reply, err := stub.ModelInfer(ctx, request("identity_fp32", "packed", values),
			grpc.UseCompressor(gzip.Name))
		if err != nil {
			return err
		}
		if err := checkSame(reply, "packed", values); err != nil {
			return err
		}
	}
	return nil
}

func inferMany(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	var group sync.WaitGroup
	failures := make(chan error, atOnce)
	for worker := range atOnce {
		group.Go(func() {
			for call := range callsEach {
				id := fmt.Sprintf("%d-%d", worker, call)
				values := ramp(1 + worker*call)
				reply, err := stub.ModelInfer(ctx, request("identity_fp32", id, values))
				if err == nil {
					err = checkSame(reply, id, values)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}

func streamInfer(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := inference.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx)
	if err != nil {
		return err
	}
	isBad := func(i int) bool { return i%10 == 7 }
	sent := make(chan error, 1)
	go func() {
		for i := range streamCount {
			model := "identity_fp32"
			if isBad(i) {
				model = "nope"
			}
			if err := stream.Send(request(model, fmt.Sprint(i), ramp(1+i))); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for i := range streamCount {
		reply, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("reply %d: %w", i, err)
		}
		if isBad(i) != (reply.GetErrorMessage() != "") {
			return fmt.Errorf("reply %d: error %q", i, reply.GetErrorMessage())
		}
		if isBad(i) {
			continue
		}
		if err := checkSame(reply.GetInferResponse(), fmt.Sprint(i), ramp(1+i)); err != nil {
			return err
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		return fmt.Errorf("behind the last reply: %v", err)
	}
	return <-sent
}

func streamCancelled(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := inference.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(request("identity_fp32", "1", ramp(1))); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	cancel()
	_, err = stream.Recv()
	return expectCode(err, codes.Canceled, "")
}

func deadline(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	slow := func(ctx context.Context) error {
		late := request("outlasting", "", ramp(1))
		late.Inputs[0].Name, late.Inputs[0].Shape = "x", []int64{1}
		_, err := stub.ModelInfer(ctx, late)
		return err
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := expectCode(slow(short), codes.DeadlineExceeded, ""); err != nil {
		return err
	}
	left, leave := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, leave)
	if err := expectCode(slow(left), codes.Canceled, ""); err != nil {
		return err
	}
	return slow(ctx)
}

func missing(ctx context.Context, conn *grpc.ClientConn) error {
	stub := inference.NewGRPCInferenceServiceClient(conn)
	_, err := stub.ModelInfer(ctx, request("größer", "", ramp(1)))
	if err := expectCode(err, codes.NotFound, "größer"); err != nil {
		return err
	}
	wrong := request("identity_fp32", "", ramp(1))
	wrong.Inputs[0].Datatype = "INT64"
	_, err = stub.ModelInfer(ctx, wrong)
	if err := expectCode(err, codes.InvalidArgument, "INT64"); err != nil {
		return err
	}
	_, err = stub.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: "nope"})
	return expectCode(err, codes.NotFound, "nope")
}

func predict(ctx context.Context, conn *grpc.ClientConn) error {
	stub := serving.NewPredictionServiceClient(conn)
	reply, err := stub.Predict(ctx, &serving.PredictRequest{
		ModelSpec: &serving.ModelSpec{Name: "half_plus_three"},
		Inputs: map[string]*tensorflow.TensorProto{"x": {
			Dtype: tensorflow.DataType_DT_FLOAT,
			TensorShape: &tensorflow.TensorShapeProto{
				Dim: []*tensorflow.TensorShapeProto_Dim{{Size: 2}},
			},
			FloatVal: []float32{1, 2},
		}},
	})
	if err != nil {
		return err
	}
	if got := reply.GetOutputs()["y"].GetFloatVal(); len(got) != 2 || got[0] != 3.5 || got[1] != 4 {
		return fmt.Errorf("Predict: %v", reply)
	}
	_, err = stub.Predict(ctx, &serving.PredictRequest{ModelSpec: &serving.ModelSpec{Name: "nope"}})
	if err := expectCode(err, codes.NotFound, "nope"); err != nil {
		return err
	}
	state, err := serving.NewModelServiceClient(conn).GetModelStatus(ctx,
		&serving.GetModelStatusRequest{ModelSpec: &serving.ModelSpec{Name: "half_plus_three"}})
	if err != nil {
		return err
	}
	versions := state.GetModelVersionStatus()
	if len(versions) != 1 || versions[0].GetState() != serving.ModelVersionStatus_AVAILABLE {
		return fmt.Errorf("GetModelStatus: %v", state)
	}
	return nil
}

func classify(ctx context.Context, conn *grpc.ClientConn) error {
	stub := serving.NewPredictionServiceClient(conn)
	spec := &serving.ModelSpec{Name: "half_plus_three"}
	_, err := stub.Classify(ctx, &serving.ClassificationRequest{ModelSpec: spec})
	if err := expectCode(err, codes.InvalidArgument, "classification"); err != nil {
		return err
	}
	_, err = stub.Regress(ctx, &serving.RegressionRequest{ModelSpec: spec})
	return expectCode(err, codes.InvalidArgument, "regression")
}

func health(ctx context.Context, conn *grpc.ClientConn) error {
	stub := grpc_health_v1.NewHealthClient(conn)
	reply, err := stub.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil || reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("Check: %v, %v", reply, err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watch, err := stub.Watch(watching, &grpc_health_v1.HealthCheckRequest{Service: "nope"})
	if err != nil {
		return err
	}
	first, err := watch.Recv()
	if err != nil || first.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		return fmt.Errorf("Watch: %v, %v", first, err)
	}
	return nil
}

func unimplemented(ctx context.Context, conn *grpc.ClientConn) error {
	err := conn.Invoke(ctx, "/inference.GRPCInferenceService/Nope",
		&inference.ServerLiveRequest{}, &inference.ServerLiveResponse{})
	return expectCode(err, codes.Unimplemented, "")
}
